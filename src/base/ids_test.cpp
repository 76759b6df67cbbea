#include "base/ids.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

struct Row {
  std::string text;
  std::string proposal;  // empty: legal as it is
};

TEST(KbId, TakesLegalNamesAndProposesForOthers) {
  const Row rows[] = {
      {"demo", ""},      {"a-b_9", ""},      {std::string(63, 'a'), ""},
      {"Demo", "demo"},  {"my kb", "my-kb"}, {std::string(64, 'a'), std::string(63, 'a')},
      {"../etc", "etc"}, {"-x", "x"}};
  for (const Row& row : rows) {
    const auto id = KbId::parse(row.text);
    if (row.proposal.empty()) {
      ASSERT_TRUE(id) << row.text;
      EXPECT_EQ(id->str(), row.text);
    } else {
      ASSERT_FALSE(id) << row.text;
      EXPECT_EQ(id.error().code, Code::kBadId);
      EXPECT_NE(id.error().message.find("'" + row.proposal + "' would do"), std::string::npos)
          << id.error().message;
    }
  }
}

TEST(StreamId, HasNoDashBecauseItBecomesAnSqlName) {
  EXPECT_TRUE(StreamId::parse("sensor_1"));
  const auto id = StreamId::parse("sensor-1");
  ASSERT_FALSE(id);
  EXPECT_NE(id.error().message.find("'sensor_1' would do"), std::string::npos);
}

TEST(BatchId, KeepsCapitalsAndRefusesPathsAndNothing) {
  EXPECT_EQ(BatchId::parse("prod-B57f.0001").value().str(), "prod-B57f.0001");
  EXPECT_TRUE(BatchId::parse(std::string(128, 'x')));
  for (const std::string& text :
       {std::string(), std::string(".hidden"), std::string("a/b"), std::string("a b"),
        std::string("a\0b", 3), std::string(129, 'x')}) {
    EXPECT_FALSE(BatchId::parse(text)) << text;
  }
}

TEST(Uuid, VersionsAndTimeOrder) {
  FakeClock clock(WallTime{} + std::chrono::hours(24 * 365 * 50));
  const std::string first = uuid_v7(clock);
  clock.advance(std::chrono::milliseconds(1));
  const std::string second = uuid_v7(clock);
  EXPECT_EQ(first.size(), 36U);
  EXPECT_EQ(first[14], '7');
  EXPECT_LT(first, second);
  EXPECT_EQ(uuid_v4()[14], '4');
  EXPECT_TRUE(BatchId::parse(first));
  EXPECT_EQ(random_hex(8).size(), 16U);
}

TEST(Uuid, Version5IsThatOfTheStandard) {
  constexpr std::string_view kDns = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
  // RFC 9562, appendix A.4; then Python's uuid.uuid5.
  EXPECT_EQ(uuid_v5(kDns, "www.example.com").value(), "2ed6657d-e927-568b-95e1-2665a8aea6a2");
  EXPECT_EQ(uuid_v5("6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "").value(),
            "4ebd0208-8328-5d69-8c44-ec50939c0967");
}

TEST(Uuid, Version5TakesNoNamespaceThatIsNoUuid) {
  for (const std::string text :
       {"", "6ba7b810-9dad-11d1-80b4-00c04fd430c", "6ba7b810-9dad-11d1-80b4-00c04fd430c88",
        "6ba7b810_9dad-11d1-80b4-00c04fd430c8", "6ba7b81-09dad-11d1-80b4-00c04fd430c8",
        "6ba7b81g-9dad-11d1-80b4-00c04fd430c8"}) {
    const auto id = uuid_v5(text, "x");
    ASSERT_FALSE(id) << text;
    EXPECT_EQ(id.error().code, Code::kBadId);
  }
}

}  // namespace
}  // namespace strata
