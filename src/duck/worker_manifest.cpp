#include "duck/worker_manifest.h"

#include <array>
#include <cstddef>
#include <string>

#include "duck/handles.h"
#include "duck/sql.h"
#include "duck/worker_connection.h"

namespace strata::duck {
namespace {

Error failed(const char* why) {
  return make_error(Code::kInternal, "the list of tables could not be made",
                    why == nullptr ? "" : why);
}

Result<void> insert(duckdb_prepared_statement statement, const ManifestRow& row) {
  const std::array<const std::string*, 3> texts = {&row.table, &row.source, &row.state};
  for (std::size_t index = 0; index < texts.size(); ++index) {
    if (duckdb_bind_varchar_length(statement, index + 1, texts[index]->data(),
                                   texts[index]->size()) == DuckDBError) {
      return failed(duckdb_prepare_error(statement));
    }
  }
  const duckdb_state bound = row.rows
                                 ? duckdb_bind_int64(statement, 4, static_cast<int64_t>(*row.rows))
                                 : duckdb_bind_null(statement, 4);
  if (bound == DuckDBError) return failed(duckdb_prepare_error(statement));
  QueryResult result;
  if (duckdb_execute_prepared(statement, result.get()) == DuckDBError) {
    return failed(result.error().c_str());
  }
  return {};
}

}  // namespace

Result<void> make_manifest_table(duckdb_connection connection,
                                 const std::vector<ManifestRow>& rows) {
  const Sql table = Sql("temp.main.").ident(kManifestTable);
  STRATA_RETURN_IF_ERROR(run(connection, Sql("BEGIN")));
  STRATA_RETURN_IF_ERROR(
      run(connection, Sql("CREATE TEMPORARY TABLE ")
                          .append(table)
                          .raw("(\"table\" VARCHAR, source VARCHAR, \"rows\" BIGINT, "
                               "state VARCHAR)")));
  const Sql insert_sql = Sql("INSERT INTO ")
                             .append(table)
                             .raw("(\"table\", source, state, \"rows\") VALUES ($1, $2, $3, $4)");
  Statement statement;
  if (duckdb_prepare(connection, insert_sql.str().c_str(), statement.out()) == DuckDBError) {
    return failed(duckdb_prepare_error(statement.get()));
  }
  for (const ManifestRow& row : rows) STRATA_RETURN_IF_ERROR(insert(statement.get(), row));
  return run(connection, Sql("COMMIT"));
}

}  // namespace strata::duck
