#include "duck/parquet_answer.h"

#include <exception>
#include <utility>

#include "duck/sql.h"
#include "duck/worker_connection.h"

namespace strata::duck {
namespace {

constexpr const char* kFunction = "strata_answer";

}  // namespace

void ParquetAnswer::bind(duckdb_bind_info info) {
  const auto* answer = static_cast<const ParquetAnswer*>(duckdb_bind_get_extra_info(info));
  if (answer->columns_ == nullptr) {
    duckdb_bind_set_error(info, "no answer is being written");
    return;
  }
  for (const Column& column : *answer->columns_) {
    duckdb_bind_add_result_column(info, column.name.c_str(), column.type.get());
  }
}

void ParquetAnswer::init(duckdb_init_info info) {
  duckdb_init_set_max_threads(info, 1);  // rows keep their order
}

/// No exception may pass through DuckDB's frames.
void ParquetAnswer::next_chunk(duckdb_function_info info, duckdb_data_chunk chunk) {
  auto* answer = static_cast<ParquetAnswer*>(duckdb_function_get_extra_info(info));
  try {
    auto rows = answer->rows_->next();
    if (!rows) {
      answer->failure_ = std::move(rows).error();
      duckdb_function_set_error(info, "the statement failed");
      return;
    }
    if (!*rows) {
      duckdb_data_chunk_set_size(chunk, 0);
      return;
    }
    answer->shown_ = std::move((*rows)->chunk);
    for (idx_t column = 0; column < answer->columns_->size(); ++column) {
      duckdb_vector_reference_vector(duckdb_data_chunk_get_vector(chunk, column),
                                     duckdb_data_chunk_get_vector(answer->shown_.get(), column));
    }
    duckdb_data_chunk_set_size(chunk, (*rows)->count);
  } catch (const std::exception& error) {
    duckdb_function_set_error(info, error.what());
  }
}

Result<void> ParquetAnswer::register_with(duckdb_connection connection) {
  const TableFunction function(duckdb_create_table_function());
  duckdb_table_function_set_name(function.get(), kFunction);
  duckdb_table_function_set_extra_info(function.get(), this, nullptr);
  duckdb_table_function_set_bind(function.get(), bind);
  duckdb_table_function_set_init(function.get(), init);
  duckdb_table_function_set_function(function.get(), next_chunk);
  if (duckdb_register_table_function(connection, function.get()) != DuckDBSuccess) {
    return make_error(Code::kInternal, "the query engine could not be opened", kFunction);
  }
  return {};
}

Result<void> ParquetAnswer::write(duckdb_connection connection, RowSource& rows,
                                  const std::vector<Column>& columns, const std::string& path) {
  rows_ = &rows;
  columns_ = &columns;
  // The file is there already, and has no folder for one beside it. A row group is held in memory
  // whole until it is written.
  auto written = run(connection, Sql("COPY (FROM ")
                                     .ident(kFunction)
                                     .raw("()) TO ")
                                     .literal(path)
                                     .raw(" (FORMAT parquet, COMPRESSION zstd, "
                                          "USE_TMP_FILE false, ROW_GROUP_SIZE 8192)"));
  rows_ = nullptr;
  columns_ = nullptr;
  shown_.reset();
  if (auto failure = std::exchange(failure_, std::nullopt)) return *std::move(failure);
  return written;
}

}  // namespace strata::duck
