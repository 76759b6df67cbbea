#pragma once

#include <cstdint>
#include <string_view>

namespace strata::ndjson {

/// A secret per parse: a producer that cannot know it cannot choose keys that collide, so every
/// lookup stays O(1) whatever is sent.
struct HashKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  static HashKey random();
};

/// SipHash-2-4 (Aumasson and Bernstein, 2012).
std::uint64_t sip_hash(const HashKey& key, std::string_view bytes);

}  // namespace strata::ndjson
