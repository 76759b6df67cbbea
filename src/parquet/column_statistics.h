#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

/// What a Parquet file's footer knows of its columns' values, without DuckDB and without reading a
/// value.
namespace strata::parquet {

/// One leaf column, summed over the file's row groups.
struct ColumnStatistics {
  std::uint64_t values = 0;  // NULLs among them
  /// Nothing where a row group does not say.
  std::optional<std::uint64_t> nulls = 0;
  /// Of the first row group that has them. A writer may cut long ones: a cut smallest is still the
  /// beginning of a value, a cut largest is none and left out.
  std::optional<std::string> smallest;
  std::optional<std::string> largest;
};

/// By column name. `tail`: the file's last bytes, at least footer_tail_size of them. kIo: no
/// Parquet, or damaged.
Result<std::map<std::string, ColumnStatistics>> parse_column_statistics(std::string_view tail);

}  // namespace strata::parquet
