#include "jobs/job_progress.h"

#include <algorithm>
#include <utility>

#include "catalog/jobs.h"

namespace strata::jobs {

void JobProgress::step(std::string name) {
  const std::lock_guard lock(mutex_);
  point_.step = std::move(name);
}

void JobProgress::progress(double whole) {
  // Written so that no number, as of nothing out of nothing, is 0.
  const double part = whole > 0 ? std::min(whole, 1.0) : 0;
  const std::lock_guard lock(mutex_);
  point_.progress = static_cast<std::uint64_t>(part * static_cast<double>(catalog::kProgressDone));
}

JobProgress::Point JobProgress::point() const {
  const std::lock_guard lock(mutex_);
  return point_;
}

}  // namespace strata::jobs
