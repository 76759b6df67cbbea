#include "base/scheduling.h"

#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "base/unique_fd.h"

namespace strata {
namespace {

long microseconds(const timeval& time) { return time.tv_sec * 1'000'000 + time.tv_usec; }

/// Asked again where an alarm is just going off.
itimerval alarm_of_this_process() {
  itimerval timer{};
  for (int tries = 0; tries < 10 && microseconds(timer.it_value) == 0; ++tries) {
    EXPECT_EQ(::getitimer(ITIMER_REAL, &timer), 0);
  }
  return timer;
}

TEST(GivingWay, EachTurnEndsAsLongAsTheObjectLives) {
  {
    const GivingWay giving_way;
    for (int turn = 0; turn < 3; ++turn) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the turn before this is over
      const itimerval alarm = alarm_of_this_process();
      EXPECT_GT(microseconds(alarm.it_value), 0);
      EXPECT_LE(microseconds(alarm.it_value), 1'000);
      // Periodic, it would end turns that have not begun: such a process never ran beside others.
      EXPECT_EQ(microseconds(alarm.it_interval), 0);
    }
  }
  EXPECT_EQ(microseconds(alarm_of_this_process().it_value), 0);
}

TEST(GivingWay, ASignalThatComesAfterItsEndEndsNobody) {
  {
    const GivingWay giving_way;
  }
  errno = E2BIG;
  EXPECT_EQ(std::raise(SIGALRM), 0);
  EXPECT_EQ(errno, E2BIG);
  EXPECT_EQ(microseconds(alarm_of_this_process().it_value), 0);
}

TEST(GivingWay, ReadsThatWaitAreNotInterrupted) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  std::thread late([end = std::move(writing)] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(::write(end.get(), "x", 1), 1);
  });
  const GivingWay giving_way;
  char byte = 0;
  EXPECT_EQ(::read(reading.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  late.join();
}

}  // namespace
}  // namespace strata
