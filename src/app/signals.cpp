#include "app/signals.h"

#include <csignal>
#include <ctime>

namespace strata::app {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

void block_stop_signals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // the write answers EFBIG
}

void wait_for_stop(const std::function<void()>& each_second) {
  const sigset_t set = stop_signals();
  const timespec second{.tv_sec = 1, .tv_nsec = 0};
  while (sigtimedwait(&set, nullptr, &second) < 0) each_second();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace strata::app
