#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "cli/table.h"

namespace strata::cli {

/// A query's JSON answer (interface.md "Query").
struct QueryAnswer {
  Table table;
  std::uint64_t row_count = 0;
  bool truncated = false;
};

/// Reads a whole answer. Numbers keep the digits the server sent, nested values become compact
/// JSON. kInternal: not such an answer.
Result<QueryAnswer> parse_query_answer(std::string_view body);

/// Whether DuckDB's type `name` holds numbers.
bool is_number_type(std::string_view name);

}  // namespace strata::cli
