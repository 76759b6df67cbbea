#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "base/error.h"
#include "sql_gate/position.h"

/// A tree written back as text has to say what it said.
namespace strata::sql_gate {

/// DuckDB writes the DOUBLE 1e3 back as 1000.0, which it then reads as a DECIMAL: each such number
/// becomes a cast of its own spelling in `sql`. Says whether there was one. kSqlRefused: the
/// spelling is not where the tree says.
Result<bool> spell_doubles(boost::json::value& tree, std::string_view sql);

/// Whether the tree of the text written back is the tree it was written from, but for places in the
/// text, whose pairs come out in `places`. A list of VALUES comes back as a query of it, and
/// `a, b CROSS JOIN c` without its brackets: both count as the same.
bool is_same(const boost::json::value& original, const boost::json::value& written, Places& places);

}  // namespace strata::sql_gate
