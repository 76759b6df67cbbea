#include "stream/rates.h"

#include <gtest/gtest.h>

#include "stream/testing/stream_world.h"

namespace strata::stream {
namespace {

using std::chrono::seconds;

class RatesTest : public ::testing::Test {
 protected:
  void land(Process& process, Stream& stream, const std::string& id, const std::string& body) {
    ASSERT_TRUE(process.land(stream, id, body)) << id;
  }
  static Rates::Point last_of(Stream& stream, const std::string& window) {
    return stream.rates().series(window).value().points.back();
  }

  World world_;
};

TEST_F(RatesTest, CountRowsAndBatchesInTheBucketTheyCameIn) {
  Process process(world_);
  Stream& stream = process.stream("s");
  land(process, stream, "a", "{\"x\":1}\n{\"x\":2}\n");
  process.streams->tick();
  world_.clock.advance(seconds(5));
  land(process, stream, "b", "{\"x\":3}\n");
  process.streams->tick();

  const Rates::Series five = stream.rates().series("5m").value();
  EXPECT_EQ(five.bucket, seconds(5));
  EXPECT_EQ(five.since, WallTime(world_.clock.wall() - seconds(5)));
  ASSERT_EQ(five.points.size(), 2U);
  EXPECT_EQ(five.points[0].rows, 2U);
  EXPECT_EQ(five.points[0].batches, 1U);
  EXPECT_EQ(five.points[1].rows, 1U);
  EXPECT_EQ(five.points[1].at, WallTime(five.points[0].at + seconds(5)));
  EXPECT_EQ(last_of(stream, "1h").rows, 3U);
  EXPECT_EQ(last_of(stream, "24h").batches, 2U);
}

TEST_F(RatesTest, WhatIsOlderThanTheWindowIsGone) {
  Process process(world_);
  Stream& stream = process.stream("s");
  land(process, stream, "a", "{\"x\":1}\n");
  process.streams->tick();
  world_.clock.advance(seconds(300));
  const Rates::Series five = stream.rates().series("5m").value();
  ASSERT_EQ(five.points.size(), 60U);
  for (const Rates::Point& point : five.points) EXPECT_EQ(point.rows, 0U);
  EXPECT_EQ(stream.rates().series("1h").value().points[0].rows, 1U);
}

TEST_F(RatesTest, BeginWithTheProcessAndSeeWhatOthersLand) {
  Process one(world_, "one");
  land(one, one.stream("s"), "a", "{\"x\":1}\n");
  one.streams->tick();
  Process two(world_, "two");
  Stream& stream = two.stream("s");
  EXPECT_EQ(last_of(stream, "1h").rows, 0U);
  land(one, one.stream("s"), "b", "{\"x\":1}\n{\"x\":2}\n");
  one.streams->tick();
  world_.clock.advance(seconds(1));  // the others' numbers are read once a second
  two.streams->tick();
  EXPECT_EQ(last_of(stream, "1h").rows, 2U);
  EXPECT_EQ(last_of(stream, "1h").batches, 1U);
}

TEST_F(RatesTest, AnotherWindowIsRefused) {
  Process process(world_);
  const auto refused = process.stream("s").rates().series("2h");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kBadRequest);
}

}  // namespace
}  // namespace strata::stream
