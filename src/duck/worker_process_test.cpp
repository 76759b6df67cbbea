#include "duck/worker_process.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "duck/testing/children.h"

namespace strata::duck {
namespace {

class WorkerSpawnerTest : public testing::TestWithParam<WorkerSpawner::Birth> {
 protected:
  WorkerSpawner spawner_{STRATA_WORKER_STUB, GetParam()};
};

/// `/autogroup-17 nice 19`, or nothing where the kernel has no such shares.
std::string share_of_session(pid_t leader) {
  std::string share;
  std::getline(std::ifstream("/proc/" + std::to_string(leader) + "/autogroup"), share);
  return share;
}

TEST_P(WorkerSpawnerTest, AWorkerHasASessionAndItsPriorityFromBirthOn) {
  const auto worker = spawner_.spawn();
  ASSERT_TRUE(worker);
  ASSERT_EQ(living_children().size(), 1U);
  const pid_t pid = *living_children().begin();
  EXPECT_EQ(::getsid(pid), pid);
  const bool is_eager = GetParam() == WorkerSpawner::Birth::kEager;
  EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(pid)),
            is_eager ? ::getpriority(PRIO_PROCESS, 0) : 19);
  const std::string share = share_of_session(pid);
  // Of others the kernel takes one change in 100 ms, from everybody together.
  constexpr unsigned kCapSysAdmin = 21;  // capabilities(7)
  if (share.empty() || !has_status_bit(::getpid(), "CapEff", kCapSysAdmin)) return;
  EXPECT_TRUE(share.ends_with(is_eager ? " nice 0" : " nice 10")) << share;
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
