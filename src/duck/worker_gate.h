#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "duck/handles.h"
#include "duck/worker_error.h"

namespace strata::duck {

struct CheckedStatement {
  Extracted statements;             // exactly one; run this, not the text again
  std::vector<std::string> tables;  // what it names, `schema.name` in lower case, each once
  bool names_manifest = false;      // kManifestTable, without a schema or in `main`
  bool names_files = false;         // it reads files it names itself, by a function or as 'a.csv'
};

/// The gate in front of a reader's SQL: exactly one statement; one that DuckDB's own serialiser
/// takes for a SELECT (so no COPY, ATTACH, SET, PRAGMA, INSTALL, INSERT, CREATE, CALL, EXPLAIN...);
/// whose parse tree calls no table function but the listed ones, because some write files
/// (`enable_logging`, `enable_profiling`), open databases, or run SQL out of a string.
/// Nothing is bound or run. What a path may reach is not decided here but by the worker's
/// allowed_directories. kSqlError: it does not parse, or is empty. kSqlRefused: of another kind.
Result<CheckedStatement> check_statement(duckdb_connection connection,
                                         const StatementContext& context);

}  // namespace strata::duck
