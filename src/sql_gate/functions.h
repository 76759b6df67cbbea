#pragma once

#include <optional>
#include <string>
#include <string_view>

/// The functions a reader's SQL may call: those that compute a value of their arguments and nothing
/// else. Whatever reads files, settings, sequences, the engine's catalog or SQL out of a string,
/// writes, sleeps or keeps state on its connection is not among them, nor is what a later DuckDB
/// adds.
namespace strata::sql_gate {

/// Scalar functions, aggregates, window functions and operators; `name` in lower case.
bool is_allowed_function(std::string_view name);
/// What may stand in FROM with arguments; `name` in lower case.
bool is_allowed_table_function(std::string_view name);

/// The allowed one that `name` is most likely a slip for.
std::optional<std::string> nearest_function(std::string_view name);

}  // namespace strata::sql_gate
