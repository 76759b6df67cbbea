#pragma once

#include <sys/types.h>

/// How the kernel's scheduler treats a process beside others that want the processor too.
namespace strata {

/// For the calling thread and those it makes from then on: to run at once when woken, a little at a
/// time, rather than when whoever runs has used up a turn of some milliseconds. From Linux 6.12 on;
/// elsewhere nothing happens.
void run_promptly();

/// For the calling thread, what it makes and what it starts from then on: behind whoever else wants
/// the processor or the disk, and in long turns.
void stand_back();

/// Where the kernel lets sessions compete as wholes (sched_autogroup): gives the session that the
/// process `leader` leads a tenth of what others get, so that its start is in nobody's way, and yet
/// no matter of seconds where others are busy. Of those without CAP_SYS_ADMIN the kernel takes one
/// such change in 100 ms, from all of them together; else nothing happens.
void hold_session_back(pid_t leader);

/// There, the least share for the calling process's session, if it leads one: a seventieth. Tried
/// for up to a second.
void let_session_stand_back();

/// For the calling thread: when nobody else wants the processor.
void run_when_idle();

/// While one lives, its process gives its turn to whoever waits for one when it is a millisecond
/// old. Standing back alone does not do it: a thread that wakes having had more than its share
/// waits until the kernel chooses again, which it does when somebody sleeps or at its tick, some
/// milliseconds later (Linux: Documentation/scheduler/sched-eevdf.rst).
///
/// One at a time in a process, made and ended by one thread. SIGALRM is its own, and interrupts
/// calls that no signal handler restarts (signal(7)).
class GivingWay {
 public:
  GivingWay();
  ~GivingWay();
  GivingWay(const GivingWay&) = delete;
  GivingWay& operator=(const GivingWay&) = delete;
};

}  // namespace strata
