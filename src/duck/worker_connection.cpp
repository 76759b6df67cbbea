#include "duck/worker_connection.h"

#include <cstdint>
#include <utility>

namespace strata::duck {
namespace {

Result<void> execute(duckdb_connection connection, const Sql& sql, QueryResult& result) {
  if (duckdb_query(connection, sql.str().c_str(), result.get()) == DuckDBError) {
    return make_error(Code::kInternal, "a statement of the server's own failed", result.error());
  }
  return {};
}

}  // namespace

std::string_view string_view_of(const duckdb_string_t& value) {
  // Short texts lie in the value itself, longer ones behind its pointer.
  return value.value.inlined.length <= sizeof(value.value.inlined.inlined)
             ? std::string_view(value.value.inlined.inlined, value.value.inlined.length)
             : std::string_view(value.value.pointer.ptr, value.value.pointer.length);
}

Result<std::vector<std::vector<std::string>>> text_rows(QueryResult& result, std::size_t columns) {
  std::vector<std::vector<std::string>> rows;
  for (;;) {
    const Chunk chunk(duckdb_fetch_chunk(*result.get()));
    if (!chunk) break;
    const std::size_t begin = rows.size();
    const std::size_t count = duckdb_data_chunk_get_size(chunk.get());
    rows.resize(begin + count, std::vector<std::string>(columns));
    for (std::size_t column = 0; column < columns; ++column) {
      const duckdb_vector vector = duckdb_data_chunk_get_vector(chunk.get(), column);
      const auto* values = static_cast<const duckdb_string_t*>(duckdb_vector_get_data(vector));
      std::uint64_t* validity = duckdb_vector_get_validity(vector);
      for (std::size_t row = 0; row < count; ++row) {
        if (validity == nullptr || duckdb_validity_row_is_valid(validity, row)) {
          rows[begin + row][column] = string_view_of(values[row]);
        }
      }
    }
  }
  // A result that failed on the way ends like one that is complete (duckdb-facts.md C4).
  std::string error = result.error();
  if (!error.empty()) {
    return make_error(Code::kInternal, "a statement of the server's own failed", std::move(error));
  }
  return rows;
}

Result<void> run(duckdb_connection connection, const Sql& sql) {
  QueryResult result;
  return execute(connection, sql, result);
}

Result<std::vector<std::vector<std::string>>> run_for_text(duckdb_connection connection,
                                                           const Sql& sql, std::size_t columns) {
  QueryResult result;
  STRATA_RETURN_IF_ERROR(execute(connection, sql, result));
  return text_rows(result, columns);
}

}  // namespace strata::duck
