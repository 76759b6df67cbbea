#include "kb/clock_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "io/testing/expect.h"

namespace strata::kb {
namespace {

using namespace std::chrono_literals;

/// The clock that the nodes share, set by the test; nothing: the catalog is away.
class SharedClock final : public catalog::RootCatalog {
 public:
  explicit SharedClock(const std::optional<WallTime>& now) : now_(now) {}
  Result<WallTime> now() override {
    if (now_) return *now_;
    return make_error(Code::kIo, "away");
  }
  Result<void> put_knowledgebase(const catalog::KnowledgebaseRow&) override { return {}; }
  Result<std::vector<catalog::KnowledgebaseRow>> knowledgebases() override { return {}; }
  Result<void> remove_knowledgebase(const std::string&) override { return {}; }
  Result<void> put_node(const catalog::NodeRow&) override { return {}; }
  Result<std::vector<catalog::NodeSeen>> nodes() override { return {}; }

 private:
  const std::optional<WallTime>& now_;
};

class ClockCheckTest : public testing::Test {
 protected:
  bool trusted() const { return clock_.trusted_wall().has_value(); }

  FakeClock clock_{WallTime(24h * 20'000)};
  std::optional<WallTime> shared_now_ = clock_.wall();
  ClockCheck check_{std::make_unique<SharedClock>(shared_now_), clock_};
};

TEST_F(ClockCheckTest, AClockIsTrustedFromItsFirstComparisonOn) {
  EXPECT_FALSE(trusted());
  shared_now_.reset();
  EXPECT_EQ(check_.compare().error().code, Code::kIo);
  EXPECT_FALSE(trusted());
  EXPECT_EQ(check_.doubt(), std::nullopt);
  shared_now_ = clock_.wall();
  ASSERT_OK(check_.compare());
  EXPECT_EQ(clock_.trusted_wall(), clock_.wall());
}

TEST_F(ClockCheckTest, FiveMinutesOffAreTheMost) {
  struct Case {
    std::chrono::nanoseconds ahead;
    std::string doubt;  // its beginning; empty: none
  };
  for (const auto& [ahead, doubt] : {
           Case{5min, ""},
           Case{-5min, ""},
           Case{5min + 1ns, "This machine's clock is 5 minutes ahead of PostgreSQL's: "},
           Case{-5min - 1ns, "This machine's clock is 5 minutes behind PostgreSQL's: "},
           Case{-24h, "This machine's clock is 1440 minutes behind PostgreSQL's: "},
       }) {
    shared_now_ = clock_.wall() - ahead;
    ASSERT_OK(check_.compare());
    EXPECT_EQ(trusted(), doubt.empty()) << ahead.count();
    EXPECT_THAT(check_.doubt().value_or(""), testing::StartsWith(doubt)) << ahead.count();
    EXPECT_EQ(check_.doubt().has_value(), !doubt.empty()) << ahead.count();
  }
}

TEST_F(ClockCheckTest, AnOutageLeavesTheLastVerdict) {
  shared_now_ = clock_.wall() - 1h;
  ASSERT_OK(check_.compare());
  shared_now_.reset();
  EXPECT_EQ(check_.compare().error().code, Code::kIo);
  EXPECT_FALSE(trusted());
  shared_now_ = clock_.wall();
  ASSERT_OK(check_.compare());
  shared_now_.reset();
  EXPECT_EQ(check_.compare().error().code, Code::kIo);
  EXPECT_TRUE(trusted());
}

}  // namespace
}  // namespace strata::kb
