#include "ndjson/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace strata::ndjson {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080U;

std::uint64_t load_word(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

std::uint8_t byte_at(const char* at) { return static_cast<std::uint8_t>(*at); }

/// What may follow a lead byte: how many bytes, and the range of the first of them, which is where
/// overlong forms, surrogates and code points above U+10FFFF show.
struct Tail {
  std::size_t length = 0;  // 0: not a lead byte
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xbf;
};

Tail tail_after(std::uint8_t lead) {
  if (lead < 0xc2 || lead > 0xf4) return {};
  if (lead < 0xe0) return {.length = 1};
  if (lead == 0xe0) return {.length = 2, .low = 0xa0};
  if (lead == 0xed) return {.length = 2, .high = 0x9f};
  if (lead < 0xf0) return {.length = 2};
  if (lead == 0xf0) return {.length = 3, .low = 0x90};
  if (lead == 0xf4) return {.length = 3, .high = 0x8f};
  return {.length = 3};
}

/// The length of the character that begins at `at` (a byte of 0x80 or more), 0 if it is not UTF-8.
std::size_t multibyte_length(const char* at, const char* end) {
  const Tail tail = tail_after(byte_at(at));
  if (tail.length == 0 || static_cast<std::size_t>(end - at) <= tail.length) return 0;
  if (byte_at(at + 1) < tail.low || byte_at(at + 1) > tail.high) return 0;
  for (std::size_t i = 2; i <= tail.length; ++i) {
    if ((byte_at(at + i) & 0xc0U) != 0x80U) return 0;
  }
  return tail.length + 1;
}

struct Character {
  std::uint32_t code_point = 0;
  std::size_t length = 1;
};

/// The first character of a valid, not empty UTF-8 text.
Character first_character(std::string_view text) {
  const std::uint8_t lead = byte_at(text.data());
  if (lead < 0x80) return {lead, 1};
  const std::size_t tail = tail_after(lead).length;
  std::uint32_t code_point = lead & (0x3fU >> tail);
  for (std::size_t i = 1; i <= tail; ++i) {
    code_point = code_point << 6U | (byte_at(text.data() + i) & 0x3fU);
  }
  return {code_point, tail + 1};
}

bool is_control(std::uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0);
}

/// Shows nothing, or moves what stands beside it: line separators, zero-width and bidirectional
/// marks, the byte order mark.
bool is_invisible(std::uint32_t code_point) {
  return (code_point >= 0x200b && code_point <= 0x200f) ||
         (code_point >= 0x2028 && code_point <= 0x202e) ||
         (code_point >= 0x2060 && code_point <= 0x206f) || code_point == 0xfeff;
}

}  // namespace

bool is_ascii(std::string_view text) {
  constexpr std::size_t kStride = 4 * sizeof(std::uint64_t);
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= kStride; at += kStride, left -= kStride) {
    if (((load_word(at) | load_word(at + 8) | load_word(at + 16) | load_word(at + 24)) &
         kHighBits) != 0) {
      return false;
    }
  }
  return std::all_of(at, at + left, [](char c) { return static_cast<std::uint8_t>(c) < 0x80; });
}

const char* find_invalid_utf8(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    if (end - at >= 8 && (load_word(at) & kHighBits) == 0) {
      at += 8;
    } else if (byte_at(at) < 0x80) {
      ++at;
    } else {
      const std::size_t length = multibyte_length(at, end);
      if (length == 0) return at;
      at += length;
    }
  }
  return nullptr;
}

std::size_t find_control_character(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    if (is_control(character.code_point)) return at;
    at += character.length;
  }
  return std::string_view::npos;
}

void append_utf8(std::uint32_t code_point, std::string& out) {
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80U | (code_point >> shift & 0x3fU));
  };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xc0U | code_point >> 6U);
    tail(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xe0U | code_point >> 12U);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0U | code_point >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string shown(std::string_view text, std::size_t bytes_max) {
  std::string out = "'";
  std::size_t at = 0;
  while (at < text.size()) {
    const Character character = first_character(text.substr(at));
    if (at + character.length > bytes_max) {
      out += "…";
      break;
    }
    if (is_control(character.code_point) || is_invisible(character.code_point)) {
      out += fmt::format("\\u{:04x}", character.code_point);
    } else {
      out += text.substr(at, character.length);
    }
    at += character.length;
  }
  out += '\'';
  return out;
}

}  // namespace strata::ndjson
