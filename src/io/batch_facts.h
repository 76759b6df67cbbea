#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "io/file_system.h"

namespace strata::io {

/// What a batch's file says of itself, in its own metadata (architecture.md, Life of a POST 7).
struct BatchFacts {
  std::string batch_id;
  std::string attempt;    // the staging path below `_tmp/`: `<process>/<attempt>.parquet`
  std::string partition;  // the folder below `data/`, empty for none
  std::string arrived_at;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::string body_sha256;
  std::string content_sha256;
  std::string file_sha256;
  std::uint64_t file_bytes = 0;
  bool operator==(const BatchFacts&) const = default;
};

/// How publish learns what a claim or a leftover is. Thread-safe.
class FactsReader {
 public:
  virtual ~FactsReader() = default;
  /// kNotFound: no such name. kBadBatch: the file is there and is no whole batch of ours. Others:
  /// it could not be read.
  virtual Result<BatchFacts> read(Entry file) = 0;
};

}  // namespace strata::io
