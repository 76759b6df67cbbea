#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "stream/stream.h"

/// Looking through a stream's folder, file by file: what is damaged, foreign or missing is named,
/// and on demand moved out of the way of readers (docs/VERIFY.md).
namespace strata::stream {

/// What one call looks at, at most; one file more is always finished.
struct VerifyBudget {
  std::size_t names = 2'000;
  std::uint64_t bytes = 128ULL * 1024 * 1024;
  std::chrono::milliseconds time{5'000};
};

struct VerifyRequest {
  bool quarantine = false;
  /// The `next` of the page before; empty: from the beginning.
  std::string after;
  VerifyBudget budget;
};

enum class FindingKind : std::uint8_t {
  kDamaged,     // a batch's file or claim is not what was written
  kForeign,     // nothing of Strata's
  kClaim,       // a batch and its claim do not belong together, or one is missing
  kColumns,     // the registry, or a file whose columns it lacks
  kReceiver,    // a settings file
  kAnchor,      // data/.schema.parquet
  kUnreadable,  // the disk does not give it
};
std::string_view finding_kind_name(FindingKind kind);

struct Finding {
  std::string path;  // relative to the stream's folder; bytes that are not ASCII as %XX
  FindingKind kind = FindingKind::kDamaged;
  std::string reason;
  std::string done;    // what quarantine did about it; empty: nothing
  std::string failed;  // why quarantine could not
};

struct VerifyPage {
  std::vector<Finding> problems;       // at most one for each name looked at
  std::vector<std::string> leftovers;  // staging folders of ended processes, on the first page
  // Of the batches in `data/` that this page looked at.
  std::uint64_t files = 0;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::uint64_t finished = 0;       // claims whose file in `data/` was made from them here
  std::optional<std::string> next;  // nothing: that was all
};

/// One page; the pages together look at every name there was when they began. Healthy files are
/// only read. A claim that an ended process left without its file in `data/` is finished.
/// With `quarantine`: what is damaged or foreign is moved into `quarantine/`, each step so that
/// a later call goes on after a kill; the numbers follow with the last page.
/// Errors: kBadRequest (`after` is none of ours), kDegraded (nothing may be moved), kUnknownStream,
/// kBusy.
Result<VerifyPage> verify(const StreamServices& services, Stream& stream,
                          const VerifyRequest& request);

}  // namespace strata::stream
