#include "ontology/date_look.h"

#include <algorithm>
#include <vector>

#include "base/cells.h"
#include "ontology/words/lists.h"
#include "ontology/words/times.h"

namespace strata::ontology {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool only_digits(std::string_view text) { return std::ranges::all_of(text, is_digit); }

bool is_month_name(std::string_view part) {
  constexpr std::size_t kShort = 3;
  if (part.size() < kShort) return false;
  const std::string name = ascii_lower(part);
  return std::ranges::any_of(words::kMonths, [&](std::string_view month) {
    return name == month || name == month.substr(0, kShort);
  });
}

/// The parts between marks of one kind; none where the marks differ.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  const std::size_t first = text.find_first_of("./- ");
  if (first == std::string_view::npos) return parts;
  const char mark = text[first];
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(mark, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// `10:00`, `10:00:07.5`, with or without an offset: what stands behind a day.
bool is_clock(std::string_view text) {
  return text.size() >= 4 && is_digit(text.front()) && text.contains(':') &&
         text.find_first_not_of("0123456789:.+-Z") == std::string_view::npos;
}

std::string_view without_clock(std::string_view text) {
  const std::size_t mark = text.find_last_of(" T");
  const bool clock = mark != std::string_view::npos && is_clock(text.substr(mark + 1));
  return clock ? text.substr(0, mark) : text;
}

}  // namespace

bool reads_like_date(std::string_view text) {
  constexpr int kMonthsMax = 12;
  constexpr int kDaysMax = 31;
  std::size_t years = 0;
  std::size_t months = 0;
  std::size_t days = 0;
  for (const std::string_view part : parts_of(without_clock(text))) {
    if (is_month_name(part)) {
      ++months;
    } else if (part.empty() || !only_digits(part)) {
      return false;
    } else if (part.size() == 4 && (part.starts_with("19") || part.starts_with("20"))) {
      ++years;
    } else if (part.size() <= 2) {
      const int number = part.size() == 1 ? part[0] - '0' : 10 * (part[0] - '0') + part[1] - '0';
      if (number < 1 || number > kDaysMax) return false;
      ++(number <= kMonthsMax ? months : days);
    } else {
      return false;
    }
  }
  // A day up to the twelfth may be either.
  return years == 1 && months >= 1 && months + days <= 2;
}

}  // namespace strata::ontology
