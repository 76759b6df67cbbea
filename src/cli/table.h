#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace strata::cli {

/// Cells to be shown under each other. A row may be shorter than the header.
struct Table {
  struct Column {
    std::string name;
    bool is_number = false;  // aligned to the right
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::optional<std::string>>> rows;  // nothing: `NULL`
};

/// Cells wider than this are cut, the last place a `…`.
inline constexpr std::size_t kCellWidthMax = 60;

/// Aligned text, safe for a terminal, each line ending in a newline and in no blank:
///
///      city    | n
///     ---------+----
///      Seattle | 12
std::string render_table(const Table& table);

}  // namespace strata::cli
