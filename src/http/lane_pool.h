#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

/// The threads of one lane: what may block runs here, and only so much of it may wait.
namespace strata::http {

class LanePool {
 public:
  /// Called exactly once: with true on a thread of the pool, or with false when it was refused.
  /// Must not throw.
  using Task = std::move_only_function<void(bool accepted)>;

  LanePool(std::size_t threads, std::size_t waiting_max);
  LanePool(const LanePool&) = delete;
  LanePool& operator=(const LanePool&) = delete;
  /// Runs what waits, then joins. Nobody may submit any more.
  ~LanePool();

  /// Thread-safe. With `waiting_max` tasks waiting for a thread, refuses at once on this thread.
  void submit(Task task);
  /// Goes on with work that was accepted before: never refused.
  void submit_again(Task task);
  /// Tasks waiting for a thread.
  std::size_t waiting() const;

 private:
  void work();
  void finish();
  /// Those beyond what idle threads are about to take.
  std::size_t waiting_locked() const;

  const std::size_t thread_count_;
  const std::size_t waiting_max_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;   // guarded by mutex_
  std::size_t running_ = 0;  // guarded by mutex_
  bool stopping_ = false;    // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace strata::http
