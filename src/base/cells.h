#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// One cell that is not NULL: its column (index into CellTable::columns) and its text.
struct Field {
  std::uint32_t column = 0;
  std::string_view text;
};

/// The rows of one batch as text cells, sparse and in row order: a column a row does not name is
/// NULL there and costs nothing, so memory is bounded by the body whatever its shape.
/// Texts point into the body the rows were parsed from, or into `arena` (unescaped strings,
/// compact JSON); the body must outlive the table.
struct CellTable {
  std::vector<std::string> columns;   // in order of first appearance
  std::vector<Field> fields;          // all rows, one after the other
  std::vector<std::size_t> row_ends;  // row r is fields[row_ends[r-1] .. row_ends[r])
  std::deque<std::string> arena;      // a deque: growing never moves what fields point at

  std::size_t row_count() const { return row_ends.size(); }
  std::span<const Field> row(std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : row_ends[index - 1];
    return std::span(fields).subspan(begin, row_ends[index] - begin);
  }
};

/// ASCII only, as DuckDB folds column names (duckdb-facts.md A3).
std::string ascii_lower(std::string_view text);

}  // namespace strata
