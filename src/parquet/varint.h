#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace strata::parquet {

/// ULEB128, as Thrift's compact protocol and Parquet's run headers have it.
inline void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80U) {
    out.push_back(static_cast<char>(value | 0x80U));
    value >>= 7U;
  }
  out.push_back(static_cast<char>(value));
}

/// Four bytes, little-endian, as Parquet has lengths.
inline std::array<char, 4> length_bytes(std::uint64_t length) {
  return {static_cast<char>(length), static_cast<char>(length >> 8U),
          static_cast<char>(length >> 16U), static_cast<char>(length >> 24U)};
}

inline void append_length(std::string& out, std::uint64_t length) {
  const auto bytes = length_bytes(length);
  out.append(bytes.data(), bytes.size());
}

}  // namespace strata::parquet
