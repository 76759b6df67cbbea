#include "http/lane_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>

namespace strata::http {
namespace {

TEST(LanePool, RefusesOnlyBeyondItsThreadsAndItsQueue) {
  std::latch release(1);
  std::atomic<int> ran = 0;
  std::atomic<int> refused = 0;
  {
    LanePool pool(2, 3);
    const auto task = [&](bool accepted) {
      if (!accepted) {
        ++refused;
        return;
      }
      release.wait();
      ++ran;
    };
    for (int i = 0; i < 5; ++i) pool.submit(task);
    EXPECT_EQ(refused, 0);
    EXPECT_EQ(pool.waiting(), 3U);
    pool.submit(task);
    EXPECT_EQ(refused, 1);
    pool.submit_again(task);
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(pool.waiting(), 4U);
    release.count_down();
  }
  EXPECT_EQ(ran, 6);
}

class NotesItsEnd {
 public:
  NotesItsEnd(std::latch& gone, std::thread::id& where) : gone_(gone), where_(where) {}
  ~NotesItsEnd() {
    where_ = std::this_thread::get_id();
    gone_.count_down();
  }

 private:
  std::latch& gone_;
  std::thread::id& where_;
};

TEST(LanePool, WhatATaskHeldGoesOnItsThread) {
  std::latch gone(1);
  std::thread::id where;
  LanePool pool(1, 1);
  auto held = std::make_unique<NotesItsEnd>(gone, where);
  pool.submit([held = std::move(held)](bool) {});
  gone.wait();
  EXPECT_NE(where, std::this_thread::get_id());
}

}  // namespace
}  // namespace strata::http
