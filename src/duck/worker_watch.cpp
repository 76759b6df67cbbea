#include "duck/worker_watch.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace strata::duck {
namespace {

constexpr std::chrono::milliseconds kTick{20};

bool peer_is_gone(int socket, std::chrono::milliseconds wait) {
  // POLLRDHUP alone: the server sends nothing while it waits, and what it might have sent is not
  // for this thread to read.
  pollfd entry{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return ::poll(&entry, 1, static_cast<int>(wait.count())) > 0;
}

}  // namespace

QueryWatch::QueryWatch(int socket) : socket_(socket), thread_([this] { run(); }) {}

QueryWatch::~QueryWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void QueryWatch::arm(duckdb_connection connection, SteadyTime deadline) {
  {
    const std::lock_guard lock(mutex_);
    connection_ = connection;
    deadline_ = deadline;
    expired_ = false;
  }
  changed_.notify_all();
}

void QueryWatch::disarm() {
  const std::lock_guard lock(mutex_);
  connection_ = nullptr;
}

bool QueryWatch::expired() const {
  const std::lock_guard lock(mutex_);
  return expired_;
}

void QueryWatch::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (connection_ == nullptr) {
      changed_.wait(lock);
      continue;
    }
    lock.unlock();
    // _exit: nothing this process holds needs to be put away, and a statement is in the middle of
    // everything that a normal exit would take apart.
    if (peer_is_gone(socket_, kTick)) ::_exit(0);
    lock.lock();
    if (connection_ != nullptr && SystemClock().steady() >= deadline_) {
      expired_ = true;
      duckdb_interrupt(connection_);
    }
  }
}

}  // namespace strata::duck
