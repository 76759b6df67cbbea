#pragma once

#include <duckdb.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace strata::duck {

/// DuckDB's keywords, lower-case: a field of such a name is quoted in a type's name.
using Keywords = std::set<std::string, std::less<>>;

/// What has to be known of a type to read its vectors: read once per result, not once per value.
struct ValueType {
  duckdb_type id = DUCKDB_TYPE_INVALID;
  duckdb_type storage = DUCKDB_TYPE_INVALID;  // the integers that hold a DECIMAL or an ENUM
  std::uint8_t scale = 0;                     // DECIMAL
  std::uint64_t array_size = 0;               // ARRAY
  std::vector<std::string> labels;            // values of an ENUM; fields of STRUCT and UNION
  std::vector<ValueType> children;            // element; key and value; fields
  std::string name;                           // as DuckDB writes it
};

/// kSqlError: the type, or one inside it, has no form in an answer (VARIANT, GEOMETRY).
Result<ValueType> describe_type(duckdb_logical_type type, const Keywords& keywords);

}  // namespace strata::duck
