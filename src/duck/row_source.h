#pragma once

#include <duckdb.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "base/error.h"
#include "duck/handles.h"

namespace strata::duck {

/// The rows [0, count) of `chunk`, the rest of which is not wanted.
struct Rows {
  Chunk chunk;
  std::uint64_t count = 0;
};

/// The rows of a running statement as they come, and no more of them than are wanted.
class RowSource {
 public:
  /// What became of the statement, from DuckDB's words for it; empty: it was interrupted.
  using Failure = std::function<Error(const std::string& duckdb_text)>;

  /// `result` streams; it and what `failure` uses outlive the source.
  RowSource(QueryResult& result, std::uint64_t rows_max, Failure failure);

  /// The next rows; nothing after the last one that is wanted.
  Result<std::optional<Rows>> next();

  /// Final once next() has yielded nothing.
  std::uint64_t row_count() const { return row_count_; }
  bool truncated() const { return truncated_; }

 private:
  QueryResult* result_;
  const std::uint64_t rows_max_;
  const Failure failure_;
  std::uint64_t row_count_ = 0;
  bool truncated_ = false;  // there are more rows than are wanted
};

}  // namespace strata::duck
