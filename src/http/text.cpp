#include "http/text.h"

#include <algorithm>
#include <optional>

#include "http/client.h"

namespace strata::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_alphanumeric(char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z'); }

std::optional<unsigned> hex_value(char c) {
  if (is_digit(c)) return static_cast<unsigned>(c - '0');
  if (lower(c) >= 'a' && lower(c) <= 'f') return static_cast<unsigned>(lower(c) - 'a' + 10);
  return std::nullopt;
}

/// RFC 3986 3.2.2, without deciding whether an IPv4 or IPv6 address is a sound one.
bool is_host(std::string_view text) {
  if (text.starts_with('[')) {
    return text.size() > 2 && text.ends_with(']') &&
           std::ranges::all_of(text.substr(1, text.size() - 2),
                               [](char c) { return hex_value(c) || c == ':' || c == '.'; });
  }
  constexpr std::string_view kPunctuation = "-._~!$&'()*+,;=%";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_alphanumeric(c) || kPunctuation.contains(c);
  });
}

/// Length of the well-formed UTF-8 sequence at the start of `text` (Unicode 15, table 3-7), or 0.
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto within = [&](std::size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  if (byte(0) < 0x80) return 1;
  if (within(0, 0xc2, 0xdf)) return within(1, 0x80, 0xbf) ? 2 : 0;
  if (within(0, 0xe0, 0xef)) {
    const unsigned low = byte(0) == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = byte(0) == 0xed ? 0x9f : 0xbf;
    return within(1, low, high) && within(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (within(0, 0xf0, 0xf4)) {
    const unsigned low = byte(0) == 0xf0 ? 0x90 : 0x80;
    const unsigned high = byte(0) == 0xf4 ? 0x8f : 0xbf;
    return within(1, low, high) && within(2, 0x80, 0xbf) && within(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool is_token(std::string_view text) {
  constexpr std::string_view kPunctuation = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_alphanumeric(c) || kPunctuation.contains(c);
  });
}

bool is_field_value(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

bool is_authority(std::string_view text) {
  std::string_view host = text;
  if (const std::size_t colon = text.rfind(':');
      colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos) {
    host = text.substr(0, colon);
    if (!std::ranges::all_of(text.substr(colon + 1), is_digit)) return false;
  }
  return is_host(host);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return part;
}

Result<std::string> percent_decode(std::string_view text, Plus plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == Plus::kSpace) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      const auto high = i + 1 < text.size() ? hex_value(text[i + 1]) : std::nullopt;
      const auto low = i + 2 < text.size() ? hex_value(text[i + 2]) : std::nullopt;
      if (!high || !low) {
        return make_error(
            Code::kBadRequest,
            "The address has a '%' that two hexadecimal digits do not follow; write a "
            "percent sign itself as %25.");
      }
      decoded += static_cast<char>(*high << 4U | *low);
      i += 2;
    }
  }
  if (decoded.contains('\0')) {
    return make_error(Code::kBadRequest, "The address has a NUL (%00) in it; leave it out.");
  }
  if (!is_utf8(decoded)) {
    return make_error(Code::kBadRequest,
                      "The address is not UTF-8 after percent-decoding; encode its text as UTF-8.");
  }
  return decoded;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kUnreserved = "-._~";  // RFC 3986 2.3
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_alphanumeric(c) || kUnreserved.contains(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kHex[byte >> 4U], kHex[byte & 0xfU]};
    }
  }
  return encoded;
}

}  // namespace strata::http
