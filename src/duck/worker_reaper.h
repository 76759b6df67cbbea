#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace strata::duck {

/// Takes ended child processes off the kernel's list, in a thread of its own that gives way to all
/// others. Reaping is no small thing to leave to a thread that somebody waits for: the kernel lets
/// it spin until the process's last threads, who gave way in life, are done with their part of
/// `/proc`; a quarter of a second was measured, at the full priority of whoever reaps. Thread-safe.
class WorkerReaper {
 public:
  WorkerReaper() : thread_([this] { run(); }) {}
  /// Reaps at once what it has not yet.
  ~WorkerReaper();
  WorkerReaper(const WorkerReaper&) = delete;
  WorkerReaper& operator=(const WorkerReaper&) = delete;

  /// `ended` is a child that nobody else reaps: a zombie until this has.
  void take(pid_t ended);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<pid_t> ended_;  // guarded by mutex_
  bool stopping_ = false;     // guarded by mutex_
  std::thread thread_;        // last: it uses the others
};

}  // namespace strata::duck
