#pragma once

/// How the kernel's scheduler treats a process beside others that want the processor too.
namespace strata {

/// For the calling thread and those it makes from then on: to run at once when woken, a little at a
/// time, rather than when whoever runs has used up a turn of some milliseconds. From Linux 6.12 on;
/// elsewhere nothing happens.
void run_promptly();

/// For the calling process, before it has other threads: behind whoever else wants the processor or
/// the disk, and in long turns. Its session's share is the smallest too, where sessions compete as
/// wholes (sched_autogroup).
void stand_back();

/// For the calling thread: when nobody else wants the processor.
void run_when_idle();

}  // namespace strata
