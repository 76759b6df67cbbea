#include "cli/table.h"

#include <algorithm>

#include "cli/text.h"

namespace strata::cli {
namespace {

struct Cell {
  std::string text;
  std::size_t width = 0;
};

Cell make_cell(const std::optional<std::string>& value) {
  if (!value) return {.text = "NULL", .width = 4};
  Cell cell{.text = cut_to_width(printable(*value), kCellWidthMax)};
  cell.width = display_width(cell.text);
  return cell;
}

void append_cell(std::string& line, const Cell& cell, std::size_t width, bool right) {
  const std::string padding(width - cell.width, ' ');
  line += line.empty() ? " " : " | ";
  if (right) line += padding;
  line += cell.text;
  if (!right) line += padding;
}

void finish_line(std::string& out, std::string& line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line;
  out += '\n';
  line.clear();
}

}  // namespace

std::string render_table(const Table& table) {
  std::vector<Cell> header;
  std::vector<std::size_t> widths;
  for (const Table::Column& column : table.columns) {
    header.push_back(make_cell(column.name));
    widths.push_back(header.back().width);
  }
  std::vector<std::vector<Cell>> rows;
  rows.reserve(table.rows.size());
  for (const auto& values : table.rows) {
    auto& cells = rows.emplace_back();
    for (std::size_t index = 0; index < widths.size(); ++index) {
      cells.push_back(index < values.size() ? make_cell(values[index]) : Cell{});
      widths[index] = std::max(widths[index], cells.back().width);
    }
  }
  std::string out;
  std::string line;
  for (std::size_t index = 0; index < header.size(); ++index) {
    append_cell(line, header[index], widths[index], table.columns[index].is_number);
  }
  finish_line(out, line);
  for (std::size_t index = 0; index < widths.size(); ++index) {
    line += index == 0 ? "-" : "+-";
    line.append(widths[index] + 1, '-');
  }
  finish_line(out, line);
  for (const auto& cells : rows) {
    for (std::size_t index = 0; index < cells.size(); ++index) {
      append_cell(line, cells[index], widths[index], table.columns[index].is_number);
    }
    finish_line(out, line);
  }
  return out;
}

}  // namespace strata::cli
