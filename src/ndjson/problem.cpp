#include "ndjson/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cells.h"
#include "base/limits.h"
#include "ndjson/text.h"

namespace strata::ndjson {
namespace {

constexpr std::size_t kFoundBytesMax = 24;
constexpr std::string_view kDigits = "0123456789";

/// A place in a line, with the views its sentence needs.
struct Place {
  std::string_view line;
  std::size_t offset = 0;  // from 0

  std::size_t byte() const { return offset + 1; }
  std::string_view rest() const { return line.substr(offset); }
  std::string found() const { return shown(rest(), kFoundBytesMax); }
  std::string_view word() const {
    const std::string_view text = rest();
    const auto length = std::ranges::find_if_not(text, is_word_byte) - text.begin();
    return text.substr(0, static_cast<std::size_t>(length));
  }
};

std::string_view kind_of(char first) {
  switch (first) {
    case '[':
      return "an array";
    case '"':
      return "a string";
    case 't':
      return "true";
    case 'f':
      return "false";
    case 'n':
      return "null";
    default:
      return "a number";
  }
}

/// NaN and the infinities, in any of their spellings.
bool is_not_finite(std::string_view word) {
  if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
  if (word.size() > std::string_view("infinity").size()) return false;
  const std::string lower = ascii_lower(word);
  return lower == "nan" || lower == "inf" || lower == "infinity";
}

/// How to mend a run of number-like bytes: the first rule of RFC 8259 that it breaks.
std::string_view number_advice(std::string_view word) {
  if (is_not_finite(word)) return "send null, or a string";
  if (word.starts_with('+')) return "remove the plus sign";
  if (word.starts_with('-')) word.remove_prefix(1);
  if (word.starts_with('.')) return "write a digit before the point";
  if (word.empty()) return "write a digit after the minus sign";
  if (word.size() > 1 && word[0] == '0' && kDigits.contains(word[1])) {
    return "remove the leading zero, or send it as a string";
  }
  word.remove_prefix(std::min(word.find_first_not_of(kDigits), word.size()));
  if (word.starts_with('.')) {
    word.remove_prefix(1);
    const std::size_t digits = std::min(word.find_first_not_of(kDigits), word.size());
    if (digits == 0) return "write a digit after the point";
    word.remove_prefix(digits);
  }
  if (word.starts_with('e') || word.starts_with('E')) {
    word.remove_prefix(1);
    if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
    if (word.empty()) return "write a digit in the exponent";
  }
  return "put it in double quotes to send it as text";
}

std::string describe_number(const Place& place) {
  return fmt::format("{} at byte {} is not a JSON number: {}.", shown(place.word()), place.byte(),
                     number_advice(place.word()));
}

std::string describe_value(const Place& place) {
  const std::string_view word = place.word();
  if (word.empty()) {
    return fmt::format("A value must stand at byte {}, not {}{}.", place.byte(), place.found(),
                       place.rest().starts_with('\'') ? ": strings need double quotes" : "");
  }
  if (kDigits.contains(word[0]) || std::string_view("+-.").contains(word[0]) ||
      is_not_finite(word)) {
    return describe_number(place);
  }
  const std::string lower = ascii_lower(word);
  std::string_view advice = "put text in double quotes";
  if (lower == "true") advice = "write true";
  if (lower == "false") advice = "write false";
  if (lower == "null" || lower == "none" || lower == "nil" || lower == "undefined") {
    advice = "write null";
  }
  return fmt::format("{} at byte {} is not a JSON value: {}.", shown(word), place.byte(), advice);
}

std::string describe_control_character(const Place& place) {
  const char c = place.line[place.offset];
  const std::string_view letters = "btnvfr";  // \b is 8, then in order; JSON has no \v
  std::string escape = fmt::format("\\u{:04x}", static_cast<unsigned>(c));
  if (c >= '\b' && c <= '\r' && c != '\v') {
    escape = fmt::format("\\{}", letters[static_cast<std::size_t>(c - '\b')]);
  }
  return fmt::format("The string has a raw control character at byte {}: send it as {}.",
                     place.byte(), escape);
}

std::string describe_line(Problem problem, const Place& place) {
  switch (problem) {
    case Problem::kNotUtf8:
      return fmt::format("The line is not valid UTF-8 at byte {} (0x{:02X}): send it in UTF-8.",
                         place.byte(), static_cast<unsigned char>(place.line[place.offset]));
    case Problem::kNotAnObject:
      return fmt::format("The line is {}, not a JSON object: send one object per line.",
                         kind_of(place.line[place.offset]));
    case Problem::kByteOrderMark:
      return fmt::format(
          "A byte order mark stands at byte {}: only the very start of the body may have one.",
          place.byte());
    case Problem::kSecondRecord:
      return fmt::format("A second record begins at byte {}: send one object per line.",
                         place.byte());
    case Problem::kCommaAfterRecord:
      return fmt::format(
          "A comma follows the record at byte {}: between records NDJSON has only a line end.",
          place.byte());
    case Problem::kTextAfterRecord:
      return fmt::format("The record is followed by {} at byte {}: end the line with the object.",
                         place.found(), place.byte());
    default:
      return fmt::format("A JSON object must begin at byte {}, not {}: send one object per line.",
                         place.byte(), place.found());
  }
}

std::string describe_structure(const Fault& fault, const Place& place) {
  switch (fault.problem) {
    case Problem::kLineEnds:
      return fmt::format(
          "The line ends after byte {}, inside the object: send each object whole, on one line.",
          place.offset);
    case Problem::kExpectedKey:
      return fmt::format("A key in double quotes must stand at byte {}, not {}.", place.byte(),
                         place.found());
    case Problem::kExpectedColon:
      return fmt::format("A colon must follow the key at byte {}, not {}.", place.byte(),
                         place.found());
    case Problem::kExpectedCommaOrBrace:
      return fmt::format("A comma or '}}' must follow the value at byte {}, not {}.", place.byte(),
                         place.found());
    case Problem::kExpectedCommaOrBracket:
      return fmt::format("A comma or ']' must follow the value at byte {}, not {}.", place.byte(),
                         place.found());
    case Problem::kCommaBeforeEnd:
      return fmt::format("Nothing follows the comma at byte {}: remove it.", place.byte());
    case Problem::kTooDeep:
      return fmt::format(
          "The value is nested too deep at byte {}: at most {} levels, the record being the first.",
          place.byte(), limits::kNestingDepthMax);
    case Problem::kDuplicateKey:
      return fmt::format("The key {} stands twice in the record, again at byte {}: send it once.",
                         shown(fault.key), place.byte());
    default:
      return fmt::format(
          "The key {} stands twice in one nested object, again at byte {}: send it once.",
          shown(fault.key), place.byte());
  }
}

std::string describe_string(Problem problem, const Place& place) {
  switch (problem) {
    case Problem::kUnclosedString:
      return fmt::format(
          "The string that begins at byte {} is not closed: send each record whole, on one line, "
          "and line ends in text as \\n.",
          place.byte());
    case Problem::kControlCharacter:
      return describe_control_character(place);
    case Problem::kBadEscape:
      return fmt::format("The string has an unknown escape at byte {}: send a backslash as \\\\.",
                         place.byte());
    case Problem::kBadUnicodeEscape:
      return fmt::format("The string has a bad escape at byte {}: \\u needs four hex digits.",
                         place.byte());
    case Problem::kLoneSurrogate:
      return fmt::format(
          "The string has half a surrogate pair, {}, at byte {}: the text was cut inside a "
          "character.",
          shown(place.rest().substr(0, 6)), place.byte());
    default:
      return fmt::format("The string has a NUL character at byte {}: remove it at the producer.",
                         place.byte());
  }
}

}  // namespace

bool is_word_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.' || c == '_';
}

std::string describe(const Fault& fault, std::string_view line) {
  const Place place{line, static_cast<std::size_t>(fault.at - line.data())};
  switch (fault.problem) {
    case Problem::kNotUtf8:
    case Problem::kNotAnObject:
    case Problem::kNoObject:
    case Problem::kByteOrderMark:
    case Problem::kSecondRecord:
    case Problem::kCommaAfterRecord:
    case Problem::kTextAfterRecord:
      return describe_line(fault.problem, place);
    case Problem::kLineEnds:
    case Problem::kExpectedKey:
    case Problem::kExpectedColon:
    case Problem::kExpectedCommaOrBrace:
    case Problem::kExpectedCommaOrBracket:
    case Problem::kCommaBeforeEnd:
    case Problem::kTooDeep:
    case Problem::kDuplicateKey:
    case Problem::kDuplicateNestedKey:
      return describe_structure(fault, place);
    case Problem::kExpectedValue:
      return describe_value(place);
    case Problem::kBadNumber:
      return describe_number(place);
    case Problem::kUnclosedString:
    case Problem::kControlCharacter:
    case Problem::kBadEscape:
    case Problem::kBadUnicodeEscape:
    case Problem::kLoneSurrogate:
    case Problem::kNul:
      return describe_string(fault.problem, place);
  }
  return {};
}

}  // namespace strata::ndjson
