#include "base/clock.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

using namespace std::chrono_literals;

TEST(Iso8601, WritesAFixedWidthAndReadsItBack) {
  const WallTime time =
      std::chrono::sys_days(std::chrono::year(2026) / 6 / 29) + 1h + 2min + 3s + 45us;
  EXPECT_EQ(format_iso8601(time), "2026-06-29T01:02:03.000045Z");
  EXPECT_EQ(parse_iso8601("2026-06-29T01:02:03.000045Z").value(), time);
}

TEST(Iso8601, RefusesWhatItDidNotWrite) {
  for (const char* text : {"", "2026-06-29", "2026-06-29T01:02:03Z", "2026-13-29T01:02:03.000045Z",
                           "2026-06-29T24:02:03.000045Z", "2026-06-29T01:02:03.00004xZ"}) {
    EXPECT_FALSE(parse_iso8601(text)) << text;
  }
}

TEST(FakeClock, MovesOnlyWhenTold) {
  FakeClock clock(WallTime{} + 1h);
  const auto before = clock.steady();
  clock.advance(5s);
  EXPECT_EQ(clock.wall(), WallTime{} + 1h + 5s);
  EXPECT_EQ(clock.steady() - before, 5s);
}

}  // namespace
}  // namespace strata
