#include "kb/clock_check.h"

#include <fmt/format.h>

#include <utility>

namespace strata::kb {
namespace {

bool is_off(std::chrono::nanoseconds ahead) { return std::chrono::abs(ahead) > kClockOffMax; }

}  // namespace

ClockCheck::ClockCheck(std::unique_ptr<catalog::RootCatalog> shared, Clock& clock)
    : shared_(std::move(shared)), clock_(clock) {
  clock_.trust(false);
}

Result<void> ClockCheck::compare() {
  STRATA_ASSIGN_OR_RETURN(const WallTime shared, shared_->now());
  // The answer's own way is seconds at most, by the catalog's timeouts.
  const std::chrono::nanoseconds ahead = clock_.wall() - shared;
  clock_.trust(!is_off(ahead));
  const std::lock_guard lock(mutex_);
  ahead_ = ahead;
  return {};
}

std::optional<std::string> ClockCheck::doubt() const {
  const std::lock_guard lock(mutex_);
  if (!ahead_ || !is_off(*ahead_)) return std::nullopt;
  return fmt::format(
      "This machine's clock is {} minutes {} PostgreSQL's: no old file is deleted "
      "here until it is set right, as a time service does.",
      std::chrono::floor<std::chrono::minutes>(std::chrono::abs(*ahead_)).count(),
      ahead_->count() > 0 ? "ahead of" : "behind");
}

}  // namespace strata::kb
