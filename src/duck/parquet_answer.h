#pragma once

#include <duckdb.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "duck/handles.h"
#include "duck/row_source.h"

namespace strata::duck {

/// Writes results as Parquet: DuckDB's own COPY reads the running statement through a table
/// function. One per instance, whose lock-down comes after it. One thread.
class ParquetAnswer {
 public:
  ParquetAnswer() = default;
  ParquetAnswer(const ParquetAnswer&) = delete;
  ParquetAnswer& operator=(const ParquetAnswer&) = delete;

  /// Makes the table function known to the whole instance, which this outlives.
  Result<void> register_with(duckdb_connection connection);

  struct Column {
    std::string name;
    LogicalType type;
  };
  /// The rest of `rows`, whose columns are `columns`, into the file at `path`. `connection` is not
  /// the one the rows come from. Errors: those of `rows`; otherwise DuckDB's words for why the COPY
  /// failed, as kInternal with them as its detail.
  Result<void> write(duckdb_connection connection, RowSource& rows,
                     const std::vector<Column>& columns, const std::string& path);

 private:
  static void bind(duckdb_bind_info info);
  static void init(duckdb_init_info info);
  static void next_chunk(duckdb_function_info info, duckdb_data_chunk chunk);

  // While write() runs.
  RowSource* rows_ = nullptr;
  const std::vector<Column>* columns_ = nullptr;
  std::optional<Error> failure_;
  Chunk shown_;  // what the chunk handed out last refers to
};

}  // namespace strata::duck
