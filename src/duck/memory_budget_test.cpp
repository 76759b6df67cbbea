#include "duck/memory_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace strata::duck {
namespace {

TEST(MemoryBudgetTest, OneThatNeedsMoreThanThereIsRunsAlone) {
  MemoryBudget budget(100);
  for (int round = 0; round < 2; ++round) const MemoryBudget::Share share(budget, 500);
  const MemoryBudget::Share some(budget, 60);
  const MemoryBudget::Share rest(budget, 40);
}

TEST(MemoryBudgetTest, SharesHeldAtOnceNeverExceedTheBudget) {
  constexpr std::int64_t kBudget = 100;
  MemoryBudget budget(kBudget);
  std::atomic<std::int64_t> taken = 0;
  std::atomic<bool> exceeded = false;
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 200; ++round) {
        const std::int64_t bytes = 10 + (thread * 37 + round * 11) % 120;
        const MemoryBudget::Share share(budget, static_cast<std::uint64_t>(bytes));
        if (taken.fetch_add(bytes) + bytes > std::max(kBudget, bytes)) exceeded = true;
        std::this_thread::yield();
        taken.fetch_sub(bytes);
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(done, 1'600);
}

}  // namespace
}  // namespace strata::duck
