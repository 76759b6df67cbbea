#pragma once

#include <array>
#include <cstdint>

namespace strata {

/// The lower 32 bits of `value`, the lowest byte first.
inline std::array<char, 4> little_endian_32(std::uint64_t value) {
  return {static_cast<char>(value), static_cast<char>(value >> 8U), static_cast<char>(value >> 16U),
          static_cast<char>(value >> 24U)};
}

}  // namespace strata
