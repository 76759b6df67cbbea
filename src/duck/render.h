#pragma once

#include <duckdb.h>

#include <cstdint>
#include <string>
#include <vector>

#include "duck/render_type.h"
#include "duck/worker_pool.h"

namespace strata::duck {

struct RenderedColumn {
  std::string name;
  ValueType type;
};

/// Rows of a result as the bytes of an answer (interface.md, "Query"). What is appended over the
/// life of one renderer, put together, is the whole: JSON the inside of the `rows` array, NDJSON
/// lines, CSV a header line and lines that end in CRLF.
class RowRenderer {
 public:
  RowRenderer(ResultFormat format, std::vector<RenderedColumn> columns);

  /// What stands before the rows, and there without any.
  void append_start(std::string& out) const;
  /// The rows [begin, end) of `chunk`, whose columns are the renderer's.
  void append_rows(duckdb_data_chunk chunk, std::uint64_t begin, std::uint64_t end,
                   std::string& out);

  const std::vector<RenderedColumn>& columns() const { return columns_; }

 private:
  ResultFormat format_;
  std::vector<RenderedColumn> columns_;
  std::vector<std::string> keys_;  // NDJSON: `"name":`, each once
  bool first_row_ = true;
};

}  // namespace strata::duck
