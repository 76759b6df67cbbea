#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "duck/handles.h"
#include "duck/worker_error.h"
#include "sql_gate/position.h"

namespace strata::duck {

struct CheckedStatement {
  std::string sql;                  // what is run
  bool explains = false;            // it is an EXPLAIN, not a SELECT
  std::vector<std::string> tables;  // views it names, `schema.name` in lower case, each once
  bool names_manifest = false;      // kManifestTable, without a schema or in `main`
  bool raises = false;              // it calls error()
  sql_gate::Places places;          // of `sql`, in the reader's text
  Extracted original;               // the reader's own statement: never run
  bool respelled = false;           // a column without an alias may be called otherwise in `sql`
};

/// Puts text around what is run; its places move along.
void put_around(CheckedStatement& checked, std::string_view before, std::string_view behind);

struct GateConnections {
  duckdb_connection query;  // the one the statement will run on
  duckdb_connection bare;   // one whose default catalog is empty, so that names stay names
};

/// The gate in front of a reader's SQL: the engine parses it, sql_gate/ decides on the tree, the
/// tree is written back as text, read again and compared, and the engine is asked which tables it
/// would read. What is run is that text, cut behind `rows_max` + 1 rows. EXPLAIN is taken off first
/// and put before what was checked. Nothing of the reader's is bound but names, and nothing is run.
/// kSqlError: it does not parse, or is empty. kSqlRefused, kUnknownTable: as sql_gate::check.
Result<CheckedStatement> check_statement(const GateConnections& connections,
                                         const StatementContext& context,
                                         const std::set<std::string>& views,
                                         std::uint64_t rows_max);

}  // namespace strata::duck
