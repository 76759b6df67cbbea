#include "sql_gate/position.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace strata::sql_gate {
namespace {

/// Half of what DuckDB shows of a line, on either side of the place.
constexpr std::size_t kHalfWidth = 60;
/// It looks so far around a cut for a better place to make it.
constexpr std::size_t kBreakReach = 4;

bool is_line_end(char character) { return character == '\n' || character == '\r'; }

/// A blank, or a sign that no word holds.
bool is_break(char character) {
  if (character == ' ' || (character >= '\t' && character <= '\r')) return true;
  return character != '_' && character > ' ' && character <= '~' &&
         !(character >= '0' && character <= '9') && !(character >= 'A' && character <= 'Z') &&
         !(character >= 'a' && character <= 'z');
}

/// The first break of `line` in `[begin, end)`, or `otherwise`.
std::size_t break_within(std::string_view line, const std::vector<std::size_t>& starts,
                         std::size_t begin, std::size_t end, std::size_t otherwise) {
  for (std::size_t index = begin; index < end; ++index) {
    if (is_break(line[starts[index]])) return index;
  }
  return otherwise;
}

struct Line {
  std::size_t number = 1;
  std::size_t begin = 0;
  std::size_t end = 0;
};

Line line_around(std::string_view sql, std::size_t offset) {
  Line line;
  for (std::size_t index = 0; index < offset; ++index) {
    const bool first_of_two = sql[index] == '\r' && index + 1 < offset && sql[index + 1] == '\n';
    if (!is_line_end(sql[index]) || first_of_two) continue;
    ++line.number;
    line.begin = index + 1;
  }
  line.end = offset;
  while (line.end < sql.size() && !is_line_end(sql[line.end])) ++line.end;
  return line;
}

}  // namespace

std::string line_at(std::string_view sql, std::size_t offset) {
  if (offset >= sql.size()) return {};
  const Line around = line_around(sql, offset);
  const std::string_view line = sql.substr(around.begin, around.end - around.begin);
  std::vector<std::size_t> starts;  // of its code points
  for (std::size_t index = 0; index < line.size(); ++index) {
    if ((static_cast<unsigned char>(line[index]) & 0xC0U) != 0x80U) starts.push_back(index);
  }
  const auto found = std::ranges::lower_bound(starts, offset - around.begin);
  const std::size_t place =
      found == starts.end() ? 0 : static_cast<std::size_t>(found - starts.begin());

  std::size_t first = 0;
  const bool cut_before = place >= kHalfWidth;
  if (cut_before) {
    const std::size_t cut = place - kHalfWidth + 1;
    first = break_within(line, starts, cut > kBreakReach ? cut - kBreakReach : 0,
                         std::min(cut + kBreakReach, place), cut);
  }
  std::size_t last = starts.size();
  if (place + kHalfWidth <= starts.size()) {
    const std::size_t cut = place + kHalfWidth - 1;
    last = break_within(line, starts, cut > place + kBreakReach ? cut - kBreakReach : place,
                        std::min(cut + kBreakReach, starts.size()), cut);
  }
  const std::size_t begin = starts.empty() ? 0 : starts[first];
  const std::size_t end = last < starts.size() ? starts[last] : line.size();
  const std::string label = fmt::format("LINE {}: {}", around.number, cut_before ? "..." : "");
  return fmt::format("\n\n{}{}{}\n{}^", label, line.substr(begin, end - begin),
                     last < starts.size() ? "..." : "",
                     std::string(label.size() + place - first, ' '));
}

std::string relocate(std::string_view error, std::string_view executed, std::string_view sql,
                     const Places& places) {
  const std::size_t line = error.find("\n\nLINE ");
  if (line == std::string_view::npos) return std::string(error);
  std::string moved(error.substr(0, line));
  for (const auto& [there, here] : places) {
    if (line_at(executed, there) != error.substr(line)) continue;
    moved += line_at(sql, here);
    break;
  }
  return moved;
}

}  // namespace strata::sql_gate
