#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace strata::cli {

/// A queue that makes its producer wait when `capacity` items wait. Thread-safe.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  /// False, and the item is dropped, when the queue was abandoned.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return items_.size() < capacity_ || abandoned_; });
    if (abandoned_) return false;
    items_.push_back(std::move(item));
    changed_.notify_all();
    return true;
  }

  /// Waits for an item; nothing once the queue is closed and empty, or abandoned.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !items_.empty() || closed_ || abandoned_; });
    if (items_.empty() || abandoned_) return std::nullopt;
    T item = std::move(items_.front());
    items_.pop_front();
    changed_.notify_all();
    return item;
  }

  /// No more items come; those that wait are still handed out.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  /// What waits is not handed out any more.
  void abandon() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    items_.clear();
    changed_.notify_all();
  }

 private:
  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;
  bool closed_ = false;
  bool abandoned_ = false;
};

template <typename T>
class CloseOnExit {
 public:
  explicit CloseOnExit(BoundedQueue<T>& queue) : queue_(queue) {}
  ~CloseOnExit() { queue_.close(); }
  CloseOnExit(const CloseOnExit&) = delete;
  CloseOnExit& operator=(const CloseOnExit&) = delete;

 private:
  BoundedQueue<T>& queue_;
};

}  // namespace strata::cli
