#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace strata {

/// All of `text` as decimal digits, leading zeros too; nothing if anything else is in it, or more
/// than 64 bits.
inline std::optional<std::uint64_t> parse_whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace strata
