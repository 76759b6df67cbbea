#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ndjson/sip_hash.h"

namespace strata::ndjson {

/// A key of a nested object: unescaped, and where it stands in the line.
struct NestedKey {
  std::string_view text;
  const char* at = nullptr;
};

/// Finds a key that stands twice in one object, in time linear in the keys and the bytes of them,
/// whatever they are. Keeps its table from one call to the next. Not thread-safe.
class DuplicateFinder {
 public:
  explicit DuplicateFinder(const HashKey& key) : key_(key) {}

  /// The first key that repeats an earlier one; null when all differ.
  const NestedKey* find(std::span<const NestedKey> keys);

 private:
  const NestedKey* find_by_hash(std::span<const NestedKey> keys);

  struct Slot {
    std::uint32_t key = 0;  // index plus 1; 0: free
    std::uint32_t tag = 0;  // more of the hash, so that almost only equal keys are compared
  };

  HashKey key_;
  std::vector<Slot> slots_;  // open addressing
};

}  // namespace strata::ndjson
