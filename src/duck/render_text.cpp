#include "duck/render_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace strata::duck {
namespace {

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// Bytes of the UTF-8 sequence that starts at `at`; 0: there is none (RFC 3629, table 3-7 of the
/// Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const unsigned first = byte_at(text, at);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned second_min = 0x80;
  unsigned second_max = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) second_min = 0xA0;
    if (first == 0xED) second_max = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) second_min = 0x90;
    if (first == 0xF4) second_max = 0x8F;
  } else {
    return 0;
  }
  if (text.size() - at < length) return 0;
  const unsigned second = byte_at(text, at + 1);
  if (second < second_min || second > second_max) return 0;
  for (std::size_t index = 2; index < length; ++index) {
    if ((byte_at(text, at + index) & 0xC0U) != 0x80U) return 0;
  }
  return length;
}

void append_json_escape(std::string& out, char character) {
  switch (character) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(character));
  }
}

/// Walks `text`: stretches of plain text go out whole, `escape` is asked for every ASCII byte that
/// `is_special` names.
template <typename IsSpecial, typename Escape>
void append_escaped(std::string& out, std::string_view text, IsSpecial is_special, Escape escape) {
  std::size_t plain_begin = 0;
  std::size_t at = 0;
  const auto flush = [&out, &text, &plain_begin, &at] {
    out += text.substr(plain_begin, at - plain_begin);
  };
  while (at < text.size()) {
    const std::size_t length = sequence_length(text, at);
    if (length > 1 || (length == 1 && !is_special(text[at]))) {
      at += length;
      continue;
    }
    flush();
    if (length == 0) {
      out += kReplacementCharacter;
    } else {
      escape(text[at]);
    }
    plain_begin = ++at;
  }
  flush();
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(
      out, text,
      [](char character) {
        return static_cast<unsigned char>(character) < 0x20 || character == '"' ||
               character == '\\';
      },
      [&out](char character) { append_json_escape(out, character); });
  out += '"';
}

void append_csv_field(std::string& out, std::string_view text) {
  const bool quoted = text.empty() || text.find_first_of("\",\r\n") != std::string_view::npos;
  if (quoted) out += '"';
  append_escaped(
      out, text, [](char character) { return character == '"'; }, [&out](char) { out += "\"\""; });
  if (quoted) out += '"';
}

void append_base64(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    unsigned group = byte_at(bytes, at) << 16U;
    if (count > 1) group |= byte_at(bytes, at + 1) << 8U;
    if (count > 2) group |= byte_at(bytes, at + 2);
    out += kDigits[group >> 18U];
    out += kDigits[(group >> 12U) & 63U];
    out += count > 1 ? kDigits[(group >> 6U) & 63U] : '=';
    out += count > 2 ? kDigits[group & 63U] : '=';
  }
}

}  // namespace strata::duck
