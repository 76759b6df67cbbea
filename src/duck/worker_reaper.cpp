#include "duck/worker_reaper.h"

#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "base/scheduling.h"

namespace strata::duck {
namespace {

/// By then a process's last threads are gone as a rule, and nothing is left to spin for.
constexpr std::chrono::milliseconds kPause{200};

void reap(pid_t ended) {
  while (::waitpid(ended, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

WorkerReaper::~WorkerReaper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WorkerReaper::take(pid_t ended) {
  {
    const std::lock_guard lock(mutex_);
    ended_.push_back(ended);
  }
  changed_.notify_all();
}

void WorkerReaper::run() {
  run_when_idle();
  std::unique_lock lock(mutex_);
  while (!stopping_ || !ended_.empty()) {
    changed_.wait(lock, [this] { return stopping_ || !ended_.empty(); });
    changed_.wait_for(lock, kPause, [this] { return stopping_; });
    const std::vector<pid_t> taken = std::exchange(ended_, {});
    lock.unlock();
    for (const pid_t ended : taken) reap(ended);
    lock.lock();
  }
}

}  // namespace strata::duck
