#include "base/scheduling.h"

#include <linux/ioprio.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

namespace strata {
namespace {

/// A seventieth of what normal niceness gets where the two compete.
constexpr std::int32_t kLeastShare = 19;
/// A tenth.
constexpr std::int32_t kStartingShare = 10;

constexpr std::chrono::microseconds kTurnGivingWay{1'000};

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

volatile std::sig_atomic_t giving_way = 0;

/// Once; 0: never. A system call and nothing else, so that a signal handler may.
void end_turn_in(std::chrono::microseconds time) {
  const itimerval timer{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = time.count()}};
  static_cast<void>(::setitimer(ITIMER_REAL, &timer, nullptr));
}

void on_turn_over(int /*signal*/) {
  const int kept = errno;
  ::sched_yield();
  // Counted from here: an alarm that came while others ran would take the turn before it began.
  if (giving_way != 0) end_turn_in(kTurnGivingWay);
  errno = kept;
}

void set(std::int32_t nice, std::chrono::nanoseconds turn) {
  const SchedulingAttributes attributes{.nice = nice,
                                        .runtime = static_cast<std::uint64_t>(turn.count())};
  static_cast<void>(::syscall(SYS_sched_setattr, 0, &attributes, 0));
}

/// Of the session that `leader` leads. True where there is no share to change, too.
bool set_session_share(pid_t leader, std::int32_t nice) {
  std::ofstream share("/proc/" + std::to_string(leader) + "/autogroup");
  return !share.is_open() || share << nice << std::flush;
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
  // The last of the ordinary class: the idle class would never be served beside a busy writer.
  constexpr int kLastOfBestEffort = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, IOPRIO_BE_NR - 1);
  static_cast<void>(::syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, kLastOfBestEffort));
}

void hold_session_back(pid_t leader) {
  static_cast<void>(set_session_share(leader, kStartingShare));
}

void let_session_stand_back() {
  if (::getsid(0) != ::getpid()) return;
  constexpr int kTriesMax = 50;
  constexpr std::chrono::milliseconds kPause{20};
  for (int tries = 1; tries <= kTriesMax && !set_session_share(::getpid(), kLeastShare); ++tries) {
    std::this_thread::sleep_for(kPause);
  }
}

void run_when_idle() {
  const sched_param none{};
  static_cast<void>(::sched_setscheduler(0, SCHED_IDLE, &none));
}

GivingWay::GivingWay() {
  struct sigaction action{};
  action.sa_handler = on_turn_over;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  static_cast<void>(::sigaction(SIGALRM, &action, nullptr));
  giving_way = 1;
  end_turn_in(kTurnGivingWay);
}

// The handler stays: a signal that is on its way would end the process.
GivingWay::~GivingWay() {
  giving_way = 0;
  end_turn_in(std::chrono::microseconds(0));
}

}  // namespace strata
