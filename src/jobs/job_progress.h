#pragma once

#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

namespace strata::jobs {

/// What a work says of itself and is told while it runs. Thread-safe.
class JobProgress {
 public:
  explicit JobProgress(std::string job = {}) : job_(std::move(job)) {}

  /// The job's id.
  const std::string& job() const { return job_; }

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
  bool cancelled() const { return cancel_.stop_requested(); }
  void cancel() { cancel_.request_stop(); }
  /// The same, for what a work waits for.
  std::stop_token cancel_token() const { return cancel_.get_token(); }

 private:
  const std::string job_;
  mutable std::mutex mutex_;
  Point point_;  // by mutex_
  std::stop_source cancel_;
};

}  // namespace strata::jobs
