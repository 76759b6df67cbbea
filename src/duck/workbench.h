#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "duck/sql.h"

/// A worker process of a job's own, for the server's own statements over the tables of one kb.
namespace strata::duck {

inline constexpr std::uint64_t kWorkbenchMemoryBytes = 2ULL * 1024 * 1024 * 1024;

struct WorkbenchSpec {
  std::string kb_folder;     // its streams, snapshots and typed tables may be read
  std::string write_folder;  // the one folder in which files may be made, changed and removed; what
                             // does not fit into memory is spilled there
  std::uint64_t memory_bytes = kWorkbenchMemoryBytes;  // the engine's own limit
  std::stop_token cancel{};  // nobody wants the job's outcome any more; of use for its whole life
};

/// The cells of one row; nothing: NULL.
using TextRow = std::vector<std::optional<std::string>>;

/// Holds its worker, which is killed when it is destroyed; that has to be before its pool is. What
/// is in `write_folder` then stays: the folder's owner takes it away. Temporary tables live from
/// one statement to the next. One thread; blocks.
///
/// Errors: kIo (a file of the kb could not be read, or none be written there), kDiskFull, kInternal
/// (the statement is wrong, or names what the worker may not touch): the next statement may go
/// well. kTimeout, kOutOfMemory, kCancelled, kBusy (the worker was killed from outside, or its pool
/// stopped): the worker has ended, and every later call answers kBusy. Messages carry no path.
class Workbench {
 public:
  virtual ~Workbench() = default;

  /// A statement without rows of interest: COPY ... TO a file in `write_folder`, CREATE TEMP TABLE.
  virtual Result<void> run(const Sql& statement, std::chrono::milliseconds limit) = 0;
  /// Every cell as the engine's text of it, in the order that `select` asks for. More than
  /// `rows_max` rows, or 16 MiB of them, are kInternal: who asks knows what to expect.
  virtual Result<std::vector<TextRow>> rows(const Sql& select, std::size_t rows_max,
                                            std::chrono::milliseconds limit) = 0;
};

}  // namespace strata::duck
