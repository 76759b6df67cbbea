#include "ndjson/duplicate_finder.h"

#include <bit>

namespace strata::ndjson {
namespace {

/// Up to here comparing all pairs is faster than hashing.
constexpr std::size_t kPairwiseKeysMax = 8;

}  // namespace

const NestedKey* DuplicateFinder::find(std::span<const NestedKey> keys) {
  if (keys.size() > kPairwiseKeysMax) return find_by_hash(keys);
  for (std::size_t later = 1; later < keys.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      if (keys[earlier].text == keys[later].text) return &keys[later];
    }
  }
  return nullptr;
}

const NestedKey* DuplicateFinder::find_by_hash(std::span<const NestedKey> keys) {
  const std::size_t mask = std::bit_ceil(2 * keys.size()) - 1;
  slots_.assign(mask + 1, {});
  for (std::size_t index = 0; index < keys.size(); ++index) {
    const std::uint64_t hash = sip_hash(key_, keys[index].text);
    const auto tag = static_cast<std::uint32_t>(hash >> 32U);
    std::size_t at = hash & mask;
    for (; slots_[at].key != 0; at = (at + 1) & mask) {
      if (slots_[at].tag == tag && keys[slots_[at].key - 1].text == keys[index].text) {
        return &keys[index];
      }
    }
    slots_[at] = {.key = static_cast<std::uint32_t>(index + 1), .tag = tag};
  }
  return nullptr;
}

}  // namespace strata::ndjson
