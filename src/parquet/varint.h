#pragma once

#include <cstdint>
#include <string>

#include "base/little_endian.h"

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
inline void append_length(std::string& out, std::uint64_t length) {
  const auto bytes = little_endian_32(length);
  out.append(bytes.data(), bytes.size());
}

}  // namespace strata::parquet
