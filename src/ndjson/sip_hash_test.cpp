#include "ndjson/sip_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace strata::ndjson {
namespace {

TEST(SipHash, GivesTheVectorsOfItsAuthors) {
  const HashKey key{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};
  std::string bytes;
  const std::uint64_t vectors[] = {0x726fdb47dd0e0e31U, 0x74f839c593dc67fdU, 0x0d6c8009d9a94f5aU,
                                   0x85676696d7fb7e2dU, 0xcf2794e0277187b7U, 0x18765564cd99a68dU,
                                   0xcbc9466e58fee3ceU, 0xab0200f58b01d137U, 0x93f5f5799a932462U};
  for (const std::uint64_t vector : vectors) {
    EXPECT_EQ(sip_hash(key, bytes), vector) << bytes.size();
    bytes += static_cast<char>(bytes.size());
  }
  while (bytes.size() < 15) bytes += static_cast<char>(bytes.size());
  EXPECT_EQ(sip_hash(key, bytes), 0xa129ca6149be45e5U);
}

TEST(HashKey, DiffersFromParseToParse) {
  const HashKey one = HashKey::random();
  const HashKey two = HashKey::random();
  EXPECT_NE(one.low, two.low);
  EXPECT_NE(one.high, two.high);
}

}  // namespace
}  // namespace strata::ndjson
