#include "duck/worker_limits.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace strata::duck {
namespace {

int die(const std::string& how) {
  return std::system(("exec " STRATA_WORKER_STUB " die " + how).c_str());
}

TEST(WorkerLimitsTest, ADeathOfMemoryIsToldFromACrash) {
  if (!limits_address_space()) GTEST_SKIP() << "no address space limit in this build";
  for (const char* how : {"terminate", "crash-full"}) {
    const int status = die(how);
    ASSERT_TRUE(WIFEXITED(status)) << how << ' ' << status;
    EXPECT_EQ(WEXITSTATUS(status), kExitOutOfMemory) << how;
  }
  const int status = die("crash");
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

}  // namespace
}  // namespace strata::duck
