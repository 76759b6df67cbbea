#include "ndjson/sip_hash.h"

#include <bit>
#include <charconv>
#include <cstring>

#include "base/ids.h"

namespace strata::ndjson {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read in host order");

struct State {
  std::uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }

  void absorb(std::uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

}  // namespace

HashKey HashKey::random() {
  const std::string digits = random_hex(16);
  HashKey key;
  std::from_chars(digits.data(), digits.data() + 16, key.low, 16);
  std::from_chars(digits.data() + 16, digits.data() + 32, key.high, 16);
  return key;
}

std::uint64_t sip_hash(const HashKey& key, std::string_view bytes) {
  State state{key.low ^ 0x736f6d6570736575U, key.high ^ 0x646f72616e646f6dU,
              key.low ^ 0x6c7967656e657261U, key.high ^ 0x7465646279746573U};
  std::uint64_t word = 0;
  std::size_t at = 0;
  for (; bytes.size() - at >= sizeof word; at += sizeof word) {
    std::memcpy(&word, bytes.data() + at, sizeof word);
    state.absorb(word);
  }
  word = 0;
  if (at < bytes.size()) std::memcpy(&word, bytes.data() + at, bytes.size() - at);
  state.absorb(word | static_cast<std::uint64_t>(bytes.size()) << 56);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace strata::ndjson
