#include "http/lane_pool.h"

#include <utility>

namespace strata::http {

LanePool::LanePool(std::size_t threads, std::size_t waiting_max)
    : thread_count_(threads), waiting_max_(waiting_max) {
  threads_.reserve(threads);
  try {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {  // the system has no thread left: those that run must not outlive this
    finish();
    throw;
  }
}

LanePool::~LanePool() { finish(); }

void LanePool::finish() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void LanePool::submit(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() + running_ < thread_count_ + waiting_max_) {
      queue_.push_back(std::move(task));
      task = nullptr;
    }
  }
  if (task != nullptr) return task(false);
  changed_.notify_one();
}

void LanePool::submit_again(Task task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  changed_.notify_one();
}

std::size_t LanePool::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_locked();
}

std::size_t LanePool::waiting_locked() const {
  const std::size_t idle = thread_count_ - running_;
  return queue_.size() > idle ? queue_.size() - idle : 0;
}

void LanePool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    lock.unlock();
    task(true);
    task = nullptr;  // what it held goes on this thread, before the next one starts
    lock.lock();
    --running_;
  }
}

}  // namespace strata::http
