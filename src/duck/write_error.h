#pragma once

#include <duckdb.h>

#include <string_view>

#include "base/error.h"

namespace strata::duck {

/// What a caller can do about a COPY that failed, from DuckDB's kind and text of it.
Error write_error(duckdb_error_type type, std::string_view text);

/// Whether a write failed for want of space, by the words for it.
bool is_disk_full(std::string_view text);

/// DuckDB runs nothing more on an instance that has reported such an error.
bool is_fatal(duckdb_error_type type);

}  // namespace strata::duck
