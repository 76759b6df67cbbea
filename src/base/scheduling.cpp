#include "base/scheduling.h"

#include <linux/ioprio.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>

namespace strata {
namespace {

/// A seventieth of what normal niceness gets where the two compete.
constexpr std::int32_t kLeastShare = 19;

/// As the kernel reads it; Debian 12's headers do not have it.
struct SchedulingAttributes {
  std::uint32_t size = 48;
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;  // ns of a turn; 0: the kernel's own
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

void set(std::int32_t nice, std::chrono::nanoseconds turn) {
  const SchedulingAttributes attributes{.nice = nice,
                                        .runtime = static_cast<std::uint64_t>(turn.count())};
  static_cast<void>(::syscall(SYS_sched_setattr, 0, &attributes, 0));
}

}  // namespace

void run_promptly() {
  // The kernel's least.
  constexpr std::chrono::microseconds kTurn{100};
  errno = 0;
  const int nice = ::getpriority(PRIO_PROCESS, 0);
  if (errno == 0) set(nice, kTurn);
}

void stand_back() {
  constexpr std::chrono::milliseconds kTurn{10};
  set(kLeastShare, kTurn);
  std::ofstream("/proc/self/autogroup") << kLeastShare;
  // The last of the ordinary class: the idle class would never be served beside a busy writer.
  constexpr int kLastOfBestEffort = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_BE_NR - 1);
  static_cast<void>(::syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, kLastOfBestEffort));
}

void run_when_idle() {
  const sched_param none{};
  static_cast<void>(::sched_setscheduler(0, SCHED_IDLE, &none));
}

}  // namespace strata
