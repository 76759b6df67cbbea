#pragma once

#include <duckdb.h>

#include <cstdint>
#include <string>
#include <vector>

#include "duck/answer_writer.h"
#include "duck/render_type.h"
#include "duck/worker_pool.h"

namespace strata::duck {

struct RenderedColumn {
  std::string name;
  ValueType type;
};

/// The columns' names, each made different from the ones before it: `x`, `x_1`, `x_2`. With
/// `fold_case` also where DuckDB takes two for one: `x`, `X_1`.
std::vector<std::string> unique_names(const std::vector<RenderedColumn>& columns, bool fold_case);

/// Rows as text (interface.md, "Query"): JSON the inside of the `rows` array, NDJSON lines, CSV a
/// header line and lines that end in CRLF. Never fails.
class RowRenderer final : public AnswerWriter {
 public:
  /// `format` is one of those three.
  RowRenderer(ResultFormat format, std::vector<RenderedColumn> columns);

  Result<void> append_start(std::string& out) override;
  Result<void> append_rows(duckdb_data_chunk chunk, std::uint64_t begin, std::uint64_t end,
                           std::string& out) override;
  Result<void> append_end(std::string& out) override;

 private:
  ResultFormat format_;
  std::vector<RenderedColumn> columns_;
  std::vector<std::string> keys_;  // NDJSON: `"name":`, each once
  bool first_row_ = true;
};

}  // namespace strata::duck
