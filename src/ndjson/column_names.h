#pragma once

#include <string_view>

namespace strata::ndjson {

/// Whether column_name_problem would be empty, without making a sentence of it.
bool is_legal_column(std::string_view name);

}  // namespace strata::ndjson
