#pragma once

#include <duckdb.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "duck/handles.h"
#include "duck/sql.h"

/// Small steps over one connection, for the statements that are our own.
namespace strata::duck {

/// The bytes of a VARCHAR or BLOB value where it lies in its vector.
std::string_view string_view_of(const duckdb_string_t& value);

/// A materialised result whose first `columns` columns are VARCHAR; NULL reads as empty text.
Result<std::vector<std::vector<std::string>>> text_rows(QueryResult& result, std::size_t columns);

/// Runs trusted text. The error is kInternal with DuckDB's words as its detail: the caller knows
/// what they mean there.
Result<void> run(duckdb_connection connection, const Sql& sql);
Result<std::vector<std::vector<std::string>>> run_for_text(duckdb_connection connection,
                                                           const Sql& sql, std::size_t columns);

}  // namespace strata::duck
