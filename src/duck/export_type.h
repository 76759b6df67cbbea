#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "duck/render.h"
#include "duck/render_type.h"

/// What DuckDB's types become in Parquet and Arrow, where its own choice would change a value
/// without a word: HUGEINT turns into DOUBLE, an INTERVAL loses its microseconds, a TIME its zone.
namespace strata::duck {

/// The type to cast to, so that no value changes: HUGEINT and UHUGEINT to DECIMAL(38,0), where a
/// value beyond it fails; UNION to JSON; BIGNUM, BIT, INTERVAL, TIME WITH TIME ZONE and ENUM to
/// VARCHAR; lists, arrays, maps and structs of them likewise. Nothing: it stays as it is.
/// kSqlError: a struct without field names holds one of these, and no cast can name it.
Result<std::optional<std::string>> export_cast(const ValueType& type);

/// What to select from a statement with these columns, so that each has the cast it needs; nothing:
/// none needs one. kSqlError: as export_cast, naming the column.
Result<std::optional<std::string>> export_selection(const std::vector<RenderedColumn>& columns);

}  // namespace strata::duck
