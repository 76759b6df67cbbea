#include "cli/batch_ids.h"

#include <gtest/gtest.h>

namespace strata::cli {
namespace {

// Test vectors: computed by a program that shares no code with this one.
TEST(BatchIds, PrefixesAreFixedForEver) {
  Sha256 hash;
  hash.update("{\"a\":1}\n");
  const Digest digest = hash.finish();
  struct Case {
    std::string run;
    std::optional<std::uint64_t> batch_rows;
    std::string expected;
  };
  const Case kCases[] = {
      {"", std::nullopt, "e346432021b04179"},
      {"second", std::nullopt, "17d3ad91370d8f8b"},
      {"", 5, "bc703fe047c4d029"},
      {"second", 5, "0b6c81c04721e679"},
  };
  for (const Case& test : kCases) {
    EXPECT_EQ(
        batch_id_prefix({.file_digest = digest, .run = test.run, .batch_rows = test.batch_rows}),
        test.expected);
  }
}

TEST(BatchIds, NumbersHaveSixDigitsOrMore) {
  EXPECT_EQ(batch_id("0011223344556677", 0), "0011223344556677-000000");
  EXPECT_EQ(batch_id("0011223344556677", 42), "0011223344556677-000042");
  EXPECT_EQ(batch_id("0011223344556677", 1'000'000), "0011223344556677-1000000");
}

TEST(BatchIds, ARunsNameCannotSpellAnotherIdentity) {
  EXPECT_TRUE(check_run_name(""));
  EXPECT_TRUE(check_run_name("second try, März"));
  EXPECT_FALSE(check_run_name("\nbatch-rows 5"));
  EXPECT_FALSE(check_run_name(std::string(256, 'x')));
}

}  // namespace
}  // namespace strata::cli
