#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace strata::cli {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Unicode East Asian Width W and F, and emoji, by block.
constexpr std::array<Range, 17> kWide{{{0x1100, 0x115f},
                                       {0x231a, 0x231b},
                                       {0x2e80, 0x303e},
                                       {0x3041, 0x33ff},
                                       {0x3400, 0x4dbf},
                                       {0x4e00, 0x9fff},
                                       {0xa000, 0xa4cf},
                                       {0xa960, 0xa97f},
                                       {0xac00, 0xd7a3},
                                       {0xf900, 0xfaff},
                                       {0xfe30, 0xfe6f},
                                       {0xff00, 0xff60},
                                       {0xffe0, 0xffe6},
                                       {0x1f300, 0x1f64f},
                                       {0x1f680, 0x1f6ff},
                                       {0x1f900, 0x1f9ff},
                                       {0x20000, 0x3fffd}}};

// Combining marks and joiners.
constexpr std::array<Range, 8> kZero{{{0x0300, 0x036f},
                                      {0x0483, 0x0489},
                                      {0x0591, 0x05bd},
                                      {0x1ab0, 0x1aff},
                                      {0x200b, 0x200d},
                                      {0x20d0, 0x20ff},
                                      {0xfe00, 0xfe0f},
                                      {0xfe20, 0xfe2f}}};

// Characters that reorder or hide what stands beside them, and the C1 controls.
constexpr std::array<Range, 6> kUnsafe{{{0x0080, 0x009f},
                                        {0x061c, 0x061c},
                                        {0x200e, 0x200f},
                                        {0x2028, 0x202e},
                                        {0x2066, 0x2069},
                                        {0xfeff, 0xfeff}}};

template <std::size_t N>
bool in(const std::array<Range, N>& ranges, char32_t point) {
  return std::any_of(ranges.begin(), ranges.end(), [point](const Range& range) {
    return point >= range.first && point <= range.last;
  });
}

struct Decoded {
  char32_t point = 0;
  std::size_t bytes = 0;  // 0: not UTF-8 here
};

// One code point at the start of `text`, which is not empty; RFC 3629, so no overlong forms and no
// surrogates.
Decoded decode(std::string_view text) {
  const auto byte = [&text](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  char32_t point = first & (0x7fU >> length);
  for (std::size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xc0) != 0x80) return {};
    point = (point << 6) | (byte(index) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (point < kLeast[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return {};
  return {point, length};
}

std::size_t point_width(char32_t point) {
  if (point < 0x300) return 1;
  if (in(kZero, point)) return 0;
  return in(kWide, point) ? 2 : 1;
}

std::string_view short_escape(char character) {
  switch (character) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return {};
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded decoded = decode(text);
    if (decoded.bytes == 0) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    if (decoded.point < 0x20 || decoded.point == 0x7f) {
      const std::string_view escape = short_escape(text[0]);
      if (escape.empty()) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned>(decoded.point));
      } else {
        out += escape;
      }
    } else if (in(kUnsafe, decoded.point)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(decoded.point));
    } else {
      out += text.substr(0, decoded.bytes);
    }
    text.remove_prefix(decoded.bytes);
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t end = text.find('\n');
    out += printable(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
    out += "\n  ";
  }
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Decoded decoded = decode(text);
    width += decoded.bytes == 0 ? 1 : point_width(decoded.point);
    text.remove_prefix(std::max<std::size_t>(decoded.bytes, 1));
  }
  return width;
}

std::string cut_to_width(std::string_view text, std::size_t columns_max) {
  std::size_t width = 0;
  std::size_t fits = 0;  // bytes that leave a column for the `…`
  for (std::size_t offset = 0; offset < text.size();) {
    const Decoded decoded = decode(text.substr(offset));
    width += decoded.bytes == 0 ? 1 : point_width(decoded.point);
    if (width > columns_max) return std::string(text.substr(0, fits)) + "…";
    offset += std::max<std::size_t>(decoded.bytes, 1);
    if (width + 1 <= columns_max) fits = offset;
  }
  return std::string(text);
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;
  for (std::size_t index = 0; index < text.size(); ++index) {
    const char character = text[index];
    if (static_cast<unsigned char>(character) >= 0x20 && character != '"' && character != '\\') {
      continue;
    }
    out += text.substr(plain, index - plain);
    plain = index + 1;
    const std::string_view escape = short_escape(character);
    if (escape.empty()) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(character));
    } else {
      out += escape;
    }
  }
  out += text.substr(plain);
  out += '"';
}

std::string counted(std::uint64_t count, std::string_view noun) {
  std::string digits = std::to_string(count);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, 1, ',');
  const bool is_batch = noun.ends_with("ch");
  return digits + ' ' + std::string(noun) + (count == 1 ? "" : is_batch ? "es" : "s");
}

}  // namespace strata::cli
