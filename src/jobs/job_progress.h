#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace strata::jobs {

/// What a work says of itself and is told while it runs. Thread-safe.
class JobProgress {
 public:
  struct Point {
    std::string step;
    std::uint64_t progress = 0;  // thousandths of the whole, as JobRow has them
  };

  /// What it does from now on, as a person reads it: "Matching columns".
  void step(std::string name);
  /// How much of the whole is done, from 0 to 1; what is beyond them is taken for the nearer one.
  void progress(double whole);
  Point point() const;

  /// Whether to stop: somebody asked for it, the server stops, or the job was taken for abandoned
  /// and may be another's already. A work looks often, leaves nothing half done and answers
  /// kCancelled.
  bool cancelled() const { return cancelled_; }
  void cancel() { cancelled_ = true; }

 private:
  mutable std::mutex mutex_;
  Point point_;  // by mutex_
  std::atomic<bool> cancelled_ = false;
};

}  // namespace strata::jobs
