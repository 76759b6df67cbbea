#include "api/event_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "base/limits.h"

namespace strata::api {
namespace {

TEST(ChangeEvents, SayTheStateWhenItChangedAndElseNowAndThenThatTheyLive) {
  using std::chrono::seconds;
  FakeClock clock{std::chrono::sys_days(std::chrono::year(2026) / 6 / 29)};
  ChangeEvents events(clock);
  const std::string one = "{\"rows\":1}";
  EXPECT_EQ(events.say(one), "data: {\"rows\":1}\n\n");
  EXPECT_EQ(events.say(one), "");
  clock.advance(seconds(14));
  EXPECT_EQ(events.say(one), "");
  clock.advance(seconds(1));
  EXPECT_EQ(events.say(one), ": nothing new\n\n");
  EXPECT_EQ(events.say(one), "");
  EXPECT_EQ(events.say("{\"rows\":2}"), "data: {\"rows\":2}\n\n");
}

TEST(WatcherPlace, SoManyMayWatchAndAPlaceIsGivenBack) {
  std::atomic<int> taken = 0;
  std::vector<WatcherPlace> places;
  for (int i = 0; i < limits::kEventSubscribersMax; ++i) {
    places.push_back(WatcherPlace::take(taken).value());
  }
  const auto refused = WatcherPlace::take(taken);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kBusy);
  places.pop_back();
  EXPECT_TRUE(WatcherPlace::take(taken));
  EXPECT_EQ(taken, limits::kEventSubscribersMax - 1);
}

}  // namespace
}  // namespace strata::api
