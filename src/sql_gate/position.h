#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

/// Where in a statement: DuckDB's words for it, and its errors moved from the text that was run to
/// the one the reader wrote.
namespace strata::sql_gate {

/// `\n\nLINE 2: ...the line there...\n   ^`, the caret below byte `offset`, as DuckDB ends an error
/// with it; nothing if `offset` is none of `sql`. Counts code points where DuckDB counts columns.
std::string line_at(std::string_view sql, std::size_t offset);

/// Places of the executed text that stand for places of the reader's.
using Places = std::map<std::size_t, std::size_t>;

/// `error` about `executed`, pointing into `sql` instead. One that points to no known place loses
/// its line rather than showing text that nobody wrote.
std::string relocate(std::string_view error, std::string_view executed, std::string_view sql,
                     const Places& places);

}  // namespace strata::sql_gate
