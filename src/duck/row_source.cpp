#include "duck/row_source.h"

#include <algorithm>
#include <string>
#include <utility>

namespace strata::duck {

RowSource::RowSource(QueryResult& result, std::uint64_t rows_max, Failure failure)
    : result_(&result), rows_max_(rows_max), failure_(std::move(failure)) {}

Result<std::optional<Rows>> RowSource::next() {
  Rows rows;
  if (!truncated_) rows.chunk = Chunk(duckdb_fetch_chunk(*result_->get()));
  if (!rows.chunk) {
    // A stream that fails on the way ends like one that is complete (duckdb-facts.md C4).
    if (const std::string why = result_->error(); !why.empty()) return failure_(why);
    return std::optional<Rows>();
  }
  const std::uint64_t in_chunk = duckdb_data_chunk_get_size(rows.chunk.get());
  rows.count = std::min(in_chunk, rows_max_ - row_count_);
  truncated_ = rows.count < in_chunk;
  row_count_ += rows.count;
  return std::optional<Rows>(std::move(rows));
}

}  // namespace strata::duck
