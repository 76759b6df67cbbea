#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "duck/workbench.h"
#include "duck/worker_limits.h"
#include "duck/worker_pool.h"

/// What the server and a worker say to each other over their socket: frames of a four-byte length,
/// a kind and a payload. The server asks one thing at a time. It trusts a worker no more than a
/// peer (a worker runs strangers' SQL): every length is checked before anything is allocated, and
/// what does not decode ends the worker.
namespace strata::duck {

enum class FrameKind : std::uint8_t {
  // Server to worker. Set-up comes first and once.
  kSetUp = 1,
  kPing,
  kQuery,
  kViews,
  kDdl,
  kStep,
  // Worker to server: one of the next four, rows after a head or alone, then an end.
  kError,
  kHead,
  kViewList,
  kDone,
  kRows,
  kEnd,
};

struct Frame {
  FrameKind kind = FrameKind::kEnd;
  std::string payload;
};

inline constexpr std::size_t kFrameBytesMax = 4UL * 1024 * 1024;
/// What the worker puts into one frame of rows.
inline constexpr std::size_t kRowsFrameBytes = 256UL * 1024;

/// A moment, or never.
using Deadline = std::optional<SteadyTime>;

/// kTimeout: the peer did not take it in time. kIo: the peer is gone.
Result<void> send_frame(int socket, FrameKind kind, std::string_view payload, Deadline deadline);
/// kTimeout: nothing whole came in time. kIo: the peer is gone. kInternal: it sent nonsense.
Result<Frame> receive_frame(int socket, Deadline deadline);

/// What a worker is for, whole before it opens its engine: the kernel's rules are made of it, and
/// hold for the threads only that are made after them.
struct SetUpRequest {
  WorkerUse use = WorkerUse::kQueries;
  std::string kb_folder;
  std::string writable_folder;  // but for kQueries: the one of the private copy, or of the job
  std::uint64_t memory_bytes = 0;
  std::uint64_t address_space_bytes = 0;
};

struct QueryRequest {
  Source source;
  std::string sql;
  ResultFormat format = ResultFormat::kJson;
  std::uint64_t rows_max = 0;
  std::uint64_t timeout_ms = 0;
  std::vector<ManifestRow> manifest{};
};

struct DdlRequest {
  std::string kb_folder;
  std::string database_file;
  std::vector<std::string> statements;
};

/// One statement of a workbench.
struct StepRequest {
  std::string sql;
  bool wants_rows = false;
  std::uint64_t rows_max = 0;
  std::uint64_t timeout_ms = 0;
};

/// What the rows of one step take at most, encoded.
inline constexpr std::size_t kTextRowsBytesMax = 16UL * 1024 * 1024;

/// `worn`: this worker is to be ended rather than used again.
struct AnswerEnd {
  bool worn = false;
};

std::string encode(const SetUpRequest& request);
std::string encode(const QueryRequest& request);
std::string encode(const Source& source);
std::string encode(const DdlRequest& request);
std::string encode(const StepRequest& request);
std::string encode(const Error& error);
std::string encode(const QueryHead& head);
std::string encode(const std::vector<View>& views);
std::string encode(const std::vector<TextRow>& rows);
std::string encode(const AnswerEnd& end);

/// kInternal: the payload is not one of these.
Result<SetUpRequest> decode_set_up(std::string_view payload);
Result<QueryRequest> decode_query(std::string_view payload);
Result<Source> decode_source(std::string_view payload);
Result<DdlRequest> decode_ddl(std::string_view payload);
Result<StepRequest> decode_step(std::string_view payload);
/// Only codes a worker may answer; another one, and what does not decode, becomes kInternal.
Error decode_error(std::string_view payload);
Result<QueryHead> decode_head(std::string_view payload);
Result<std::vector<View>> decode_views(std::string_view payload);
Result<std::vector<TextRow>> decode_text_rows(std::string_view payload);
Result<AnswerEnd> decode_end(std::string_view payload);

}  // namespace strata::duck
