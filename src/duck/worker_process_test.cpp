#include "duck/worker_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>

#include "base/clock.h"
#include "duck/testing/children.h"
#include "duck/worker_wire.h"

namespace strata::duck {
namespace {

class WorkerSpawnerTest : public testing::TestWithParam<WorkerSpawner::Birth> {
 protected:
  WorkerSpawner spawner_{STRATA_WORKER_STUB, GetParam()};
};

TEST_P(WorkerSpawnerTest, AWorkerIsBornInOurSessionWithItsPriority) {
  const auto worker = spawner_.spawn();
  ASSERT_TRUE(worker);
  ASSERT_EQ(living_children().size(), 1U);
  const pid_t pid = *living_children().begin();
  EXPECT_EQ(::getsid(pid), ::getsid(0));
  EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(pid)),
            GetParam() == WorkerSpawner::Birth::kEager ? ::getpriority(PRIO_PROCESS, 0) : 19);
}

TEST_P(WorkerSpawnerTest, SignalsToOurSessionDoNotEndAWorkerThatStarts) {
  const auto worker = spawner_.spawn();
  ASSERT_TRUE(worker);
  ASSERT_EQ(living_children().size(), 1U);
  const pid_t pid = *living_children().begin();
  for (const int signal_number : {SIGINT, SIGQUIT, SIGTSTP, SIGHUP, SIGTERM}) {
    ASSERT_EQ(::kill(pid, signal_number), 0);
  }
  const Deadline deadline = SystemClock().steady() + std::chrono::seconds(60);
  // DDL needs no knowledgebase to start.
  const SetUpRequest set_up = {
      .use = WorkerUse::kDdl, .memory_bytes = 1ULL << 30, .address_space_bytes = 2ULL << 30};
  ASSERT_TRUE(send_frame((*worker)->socket(), FrameKind::kSetUp, encode(set_up), deadline));
  const auto frame = receive_frame((*worker)->socket(), deadline);
  ASSERT_TRUE(frame) << frame.error().detail;
  EXPECT_EQ(frame->kind, FrameKind::kDone);
  // Later ones do.
  ASSERT_EQ(::kill(pid, SIGTERM), 0);
  EXPECT_EQ((*worker)->end(std::chrono::seconds(60)), Ending::kKilled);
}

INSTANTIATE_TEST_SUITE_P(Births, WorkerSpawnerTest,
                         testing::Values(WorkerSpawner::Birth::kEager,
                                         WorkerSpawner::Birth::kStandingBack),
                         [](const auto& births) {
                           return births.param == WorkerSpawner::Birth::kEager ? "Eager"
                                                                               : "StandingBack";
                         });

}  // namespace
}  // namespace strata::duck
