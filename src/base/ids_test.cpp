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

}  // namespace
}  // namespace strata
