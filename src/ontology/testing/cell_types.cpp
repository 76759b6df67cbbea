#include "ontology/testing/cell_types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>

#include "base/cells.h"
#include "base/check.h"

namespace strata::ontology {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes digits from the front of `text`: how many there were.
std::size_t take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  text.remove_prefix(count);
  return count;
}

bool take(std::string_view& text, std::string_view characters) {
  if (text.empty() || !characters.contains(text.front())) return false;
  text.remove_prefix(1);
  return true;
}

/// A number of `least` to `most` digits; nothing otherwise.
std::optional<unsigned> take_number(std::string_view& text, std::size_t least, std::size_t most) {
  const std::string_view before = text;
  const std::size_t digits = take_digits(text);
  if (digits < least || digits > most) return std::nullopt;
  unsigned number = 0;
  for (const char c : before.substr(0, digits))
    number = 10 * number + static_cast<unsigned>(c - '0');
  return number;
}

bool take_date(std::string_view& text) {
  const auto year = take_number(text, 4, 4);
  if (!year || !take(text, "-")) return false;
  const auto month = take_number(text, 1, 2);
  if (!month || !take(text, "-")) return false;
  const auto day = take_number(text, 1, 2);
  if (!day) return false;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day));
  return date.ok();
}

bool take_clock(std::string_view& text) {
  const auto hour = take_number(text, 1, 2);
  if (!hour || *hour > 23 || !take(text, ":")) return false;
  const auto minute = take_number(text, 2, 2);
  if (!minute || *minute > 59) return false;
  if (!take(text, ":")) return true;
  const auto second = take_number(text, 2, 2);
  if (!second || *second > 59) return false;
  return !take(text, ".") || take_digits(text) > 0;
}

bool take_two_digits(std::string_view& text) {
  if (text.size() < 2 || !is_digit(text[0]) || !is_digit(text[1])) return false;
  text.remove_prefix(2);
  return true;
}

bool take_offset(std::string_view& text) {
  if (take(text, "Z")) return true;
  if (!take(text, "+-") || !take_two_digits(text)) return false;
  if (text.empty()) return true;
  take(text, ":");
  return take_two_digits(text);
}

bool is_timestamp(std::string_view text, bool with_offset) {
  if (!take_date(text) || !take(text, "T ") || !take_clock(text)) return false;
  if (text.empty()) return !with_offset;
  return take_offset(text) && text.empty();
}

bool is_date(std::string_view text) { return take_date(text) && text.empty(); }

bool is_month(std::string_view text) {
  if (!take_number(text, 4, 4) || !take(text, "-")) return false;
  const auto month = take_number(text, 2, 2);
  return month && *month >= 1 && *month <= 12 && text.empty();
}

/// The spellings that cells_sql.h takes besides ISO 8601's, as that has them; anything else as it
/// is.
std::string as_iso(std::string_view text) {
  const std::size_t mark = std::min(text.find_first_of("T "), text.size());
  const std::string clock(text.substr(mark));
  std::string_view day = text.substr(0, mark);
  std::string_view rest = day;
  if (const auto year = take_number(rest, 4, 4); year && take(rest, "/")) {
    std::string iso(day);
    std::ranges::replace(iso, '/', '-');
    return iso + clock;
  }
  rest = day;
  const std::string first(rest.substr(0, rest.find_first_of("./")));
  if (!take_number(rest, 1, 2)) return std::string(text);
  if (first.size() == 2 && take(rest, "/") && rest.size() == 4) {
    return std::string(rest) + "-" + first;
  }
  if (!take(rest, ".")) return std::string(text);
  const std::string second(rest.substr(0, rest.find('.')));
  if (!take_number(rest, 1, 2) || !take(rest, ".") || rest.size() != 4) return std::string(text);
  return std::string(rest) + "-" + second + "-" + first + clock;
}

struct Number {
  std::size_t whole_digits = 0;
  std::size_t scale = 0;
  bool exponent = false;
  std::string digits;  // of the whole and the fraction
};

std::optional<Number> parse_number(std::string_view text) {
  Number number;
  take(text, "+-");
  const std::string_view whole = text;
  number.whole_digits = take_digits(text);
  number.digits = whole.substr(0, number.whole_digits);
  if (number.whole_digits > 1 && whole.front() == '0') return std::nullopt;
  if (take(text, ".")) {
    const std::string_view fraction = text;
    number.scale = take_digits(text);
    number.digits += fraction.substr(0, number.scale);
  }
  if (number.digits.empty()) return std::nullopt;
  if (take(text, "eE")) {
    number.exponent = true;
    take(text, "+-");
    while (text.size() > 1 && text.front() == '0') text.remove_prefix(1);
    const auto exponent = take_number(text, 1, 3);
    if (!exponent || *exponent > 199) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return number;
}

bool is_whole(std::string_view text) {
  take(text, "+-");
  if (text == "0") return true;
  const bool zero_first = text.starts_with('0');
  const std::size_t digits = take_digits(text);
  return !zero_first && digits >= 1 && digits <= 18 && text.empty();
}

bool is_boolean(std::string_view text) {
  static constexpr std::string_view kWords[] = {"true", "false", "yes", "no", "t", "f", "y", "n"};
  return std::ranges::find(kWords, ascii_lower(text)) != std::end(kWords);
}

std::string without_outer_zeros(std::string digits) {
  const auto begin = digits.find_first_not_of('0');
  if (begin == std::string::npos) return {};
  return digits.substr(begin, digits.find_last_not_of('0') - begin + 1);
}

/// As cells_sql.h's survives_double has it.
bool survives_double(std::string_view cell, const Number& number) {
  const std::string digits = without_outer_zeros(number.digits);
  if (digits.size() <= 15) return true;
  if (number.scale == 0 && !number.exponent && !cell.contains('.')) return false;
  take(cell, "+");
  double read = 0;
  std::from_chars(cell.data(), cell.data() + cell.size(), read);
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), read).ptr;
  const auto written = parse_number({buffer.data(), end});
  return written && without_outer_zeros(written->digits) == digits;
}

ColumnType numeric_type(const Counts& counts) {
  std::size_t whole = 1;
  std::size_t scale = 0;
  bool exponent = false;
  bool exact = true;
  for (const auto& [cell, count] : counts) {
    const auto number = parse_number(cell);
    if (!number) continue;
    exact &= survives_double(cell, *number);
    whole = std::max(whole, number->whole_digits);
    scale = std::max(scale, number->scale);
    exponent |= number->exponent;
  }
  if (exponent || scale > 9 || whole + scale > 38) {
    return exact ? ColumnType{.type = Type::kDouble} : ColumnType{};
  }
  return {.type = Type::kDecimal,
          .precision = static_cast<std::uint8_t>(whole + scale),
          .scale = static_cast<std::uint8_t>(scale)};
}

}  // namespace

bool casts(std::string_view cell, Type type) {
  switch (type) {
    case Type::kVarchar:
      return true;
    case Type::kBigint:
      return is_whole(cell);
    case Type::kDecimal:
    case Type::kDouble:
      return parse_number(cell).has_value();
    case Type::kDate:
      return is_date(as_iso(cell));
    case Type::kMonth:
      return is_month(as_iso(cell));
    case Type::kTimestamp:
      return is_timestamp(as_iso(cell), false) || is_timestamp(cell, true);
    case Type::kTimestampTz:
      return is_timestamp(cell, true);
    case Type::kBoolean:
      return is_boolean(cell);
  }
  STRATA_CHECK(false);
}

ColumnType type_of(const Counts& counts) {
  std::uint64_t cells = 0;
  for (const auto& [cell, count] : counts) cells += count;
  const auto most_are = [&](Type type) {
    std::uint64_t fitting = 0;
    for (const auto& [cell, count] : counts) fitting += casts(cell, type) ? count : 0;
    return cells > 0 && 100 * fitting >= 98 * cells;
  };
  for (const Type type : {Type::kTimestampTz, Type::kTimestamp, Type::kDate, Type::kMonth}) {
    if (most_are(type)) return {.type = type};
  }
  if (counts.size() <= 2 && most_are(Type::kBoolean)) return {.type = Type::kBoolean};
  std::uint64_t points = 0;
  bool zeros = false;
  for (const auto& [cell, count] : counts) {
    zeros |= has_leading_zeros(cell);
    const auto number = parse_number(cell);
    if (number && !number->exponent && cell.contains('.')) points += count;
  }
  if (zeros && 2 * points < cells) return {};
  if (most_are(Type::kBigint)) return {.type = Type::kBigint};
  return most_are(Type::kDecimal) ? numeric_type(counts) : ColumnType{};
}

bool has_leading_zeros(std::string_view cell) {
  return cell.size() > 1 && cell.front() == '0' && std::ranges::all_of(cell, is_digit);
}

std::string mask_of(std::string_view cell) {
  std::string mask;
  for (const char c : cell) {
    const bool lower = c >= 'a' && c <= 'z';
    const bool upper = c >= 'A' && c <= 'Z';
    const char kind = is_digit(c) ? '9' : lower ? 'a' : upper ? 'A' : c;
    const bool run = (is_digit(c) || lower || upper) && !mask.empty() && mask.back() == kind;
    if (!run) mask += kind;
  }
  return mask;
}

bool is_null_like(std::string_view cell) {
  static constexpr std::string_view kTokens[] = {"",    "null", "none", "n/a", "na",
                                                 "nan", "-",    "--",   "nil"};
  return std::ranges::find(kTokens, ascii_lower(cell)) != std::end(kTokens);
}

}  // namespace strata::ontology
