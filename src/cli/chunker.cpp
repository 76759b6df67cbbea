#include "cli/chunker.h"

#include <fmt/format.h>

#include <utility>

#include "base/limits.h"

namespace strata::cli {

Result<bool> Chunker::is_full(const Chunk& chunk) const {
  const std::uint64_t bytes = chunk.body.size() + pending_.text.size();
  if (!batch_rows_) return !chunk.lines.empty() && bytes > kBatchBodyBytes;
  if (chunk.lines.size() == *batch_rows_) return true;
  if (chunk.lines.empty() || bytes <= limits::kBodyBytesCeiling) return false;
  return make_error(Code::kBadRequest,
                    fmt::format("line {}: a batch of {} rows is over {} bytes here, more than any "
                                "receiver takes; use a smaller --batch-rows, or none",
                                pending_.line, *batch_rows_, limits::kBodyBytesCeiling));
}

Result<std::optional<Chunk>> Chunker::next() {
  Chunk chunk;
  for (;;) {
    if (!has_pending_) {
      STRATA_ASSIGN_OR_RETURN(has_pending_, reader_.next(pending_));
      if (!has_pending_) break;
    }
    STRATA_ASSIGN_OR_RETURN(const bool full, is_full(chunk));
    if (full) break;
    chunk.body += pending_.text;
    chunk.lines.push_back(pending_.line);
    has_pending_ = false;
  }
  if (chunk.lines.empty()) return std::optional<Chunk>();
  chunk.number = number_++;
  return std::optional<Chunk>(std::move(chunk));
}

}  // namespace strata::cli
