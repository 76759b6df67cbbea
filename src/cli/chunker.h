#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/records.h"

namespace strata::cli {

/// A batch closes before the record with which its body would pass this. A constant for ever,
/// whatever the input format, the flags and the limits: ids name a chunk by its number.
inline constexpr std::uint64_t kBatchBodyBytes = 524'288;

/// One batch to send.
struct Chunk {
  std::uint64_t number = 0;          // from 0
  std::string body;                  // NDJSON
  std::vector<std::uint64_t> lines;  // of the file, one per record
};

/// Cuts a stream of records into batches: all records, in order, each once. A record larger than
/// kBatchBodyBytes is a batch of its own, for the server to judge.
class Chunker {
 public:
  /// `batch_rows`: by that many records instead. `reader` outlives the chunker.
  Chunker(RecordReader& reader, std::optional<std::uint64_t> batch_rows)
      : reader_(reader), batch_rows_(batch_rows) {}

  /// The next batch; nothing at the end. Errors as the reader, and kBadRequest when `batch_rows`
  /// records are more than any receiver takes.
  Result<std::optional<Chunk>> next();

 private:
  Result<bool> is_full(const Chunk& chunk) const;

  RecordReader& reader_;
  std::optional<std::uint64_t> batch_rows_;
  Record pending_;  // read, not yet in a batch
  bool has_pending_ = false;
  std::uint64_t number_ = 0;
};

}  // namespace strata::cli
