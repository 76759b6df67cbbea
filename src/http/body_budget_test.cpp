#include "http/body_budget.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace strata::http {
namespace {

TEST(BodyBudget, GivesNoMoreThanThereIsAndGetsItBack) {
  BodyBudget budget(100);
  std::optional<BodyBudget::Share> one(budget);
  BodyBudget::Share two(budget);
  EXPECT_TRUE(one->take(60));
  EXPECT_TRUE(two.take(40));
  EXPECT_TRUE(two.take(0));
  EXPECT_FALSE(two.take(1));
  EXPECT_FALSE(budget.has_room_for(1));
  one.reset();
  EXPECT_EQ(budget.held_bytes(), 40U);
  EXPECT_TRUE(budget.has_room_for(60));
  EXPECT_FALSE(budget.has_room_for(61));
  EXPECT_FALSE(two.take(UINT64_MAX));
  EXPECT_TRUE(two.take(60));
  two.give_back();
  two.give_back();
  EXPECT_EQ(budget.held_bytes(), 0U);
}

TEST(BodyBudget, ATextGrowsByDoublingUntilTheLimitOrTheBudget) {
  BodyBudget budget(2'000);
  BodyBudget::Share share(budget);
  std::string text;
  const auto grow = [&](std::size_t bytes, std::uint64_t bytes_max) {
    if (!share.make_room(text, bytes, bytes_max)) return false;
    text.append(bytes, 'x');
    return true;
  };
  EXPECT_TRUE(grow(100, 1'000));
  EXPECT_EQ(text.capacity(), 100U);
  EXPECT_TRUE(grow(1, 1'000));
  EXPECT_EQ(text.capacity(), 200U);
  EXPECT_TRUE(grow(450, 600));
  EXPECT_EQ(text.capacity(), 551U);
  EXPECT_TRUE(grow(9, 600));
  EXPECT_EQ(text.capacity(), 600U);
  EXPECT_TRUE(grow(640, 5'000));  // twice as much fits
  EXPECT_EQ(text.capacity(), 1'200U);
  EXPECT_TRUE(grow(600, 5'000));  // and now only what is needed
  EXPECT_EQ(text.capacity(), 1'800U);
  EXPECT_LE(budget.held_bytes(), 1'800U);
  EXPECT_FALSE(grow(300, 5'000));
  EXPECT_EQ(text, std::string(1'800, 'x'));
}

TEST(BodyBudget, IsNeverPassedByManyThreads) {
  BodyBudget budget(1000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&budget] {
      for (int n = 0; n < 10'000; ++n) {
        BodyBudget::Share share(budget);
        while (share.take(70)) EXPECT_LE(budget.held_bytes(), 1000U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.held_bytes(), 0U);
}

}  // namespace
}  // namespace strata::http
