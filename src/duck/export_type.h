#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "duck/render.h"
#include "duck/render_type.h"
#include "duck/worker_pool.h"

/// What DuckDB's types become in Parquet and Arrow, where its own choice would change a value
/// without a word (HUGEINT turns into DOUBLE, an INTERVAL loses its microseconds, a TIME its zone)
/// or write what other readers do not read.
namespace strata::duck {

/// Whether the format has types of its own, for which a value may have to be cast.
bool is_export(ResultFormat format);

/// The type to cast to for an answer in `format`, which is an export: HUGEINT and UHUGEINT to
/// DECIMAL(38,0), where a value beyond it fails; BIGNUM, BIT, INTERVAL, TIME WITH TIME ZONE and
/// ENUM to VARCHAR; in Parquet also ARRAY to a list, because a NULL one breaks the file, and
/// TIMESTAMP_S to TIMESTAMP; lists, arrays, maps and structs of them likewise. Nothing: it stays as
/// it is. kSqlError: it has no form there (UNION, a struct without field names).
Result<std::optional<std::string>> export_cast(const ValueType& type, ResultFormat format);

/// What to select from a statement with these columns, so that each has the cast it needs; nothing:
/// none needs one. kSqlError: as export_cast, naming the column.
Result<std::optional<std::string>> export_selection(const std::vector<RenderedColumn>& columns,
                                                    ResultFormat format);

}  // namespace strata::duck
