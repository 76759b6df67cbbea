#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "catalog/catalog.h"

namespace strata::kb {

/// How far a machine's clock may be off before nothing is deleted by its word.
inline constexpr std::chrono::minutes kClockOffMax{5};

/// Compares this machine's clock with the one that all nodes share, PostgreSQL's, and says by
/// Clock::trust whether files may be deleted by their age here. Until the two could be compared for
/// the first time they may not; later an outage leaves the last verdict. Thread-safe.
class ClockCheck {
 public:
  /// `clock` outlives this, and is not trusted from here on.
  ClockCheck(std::unique_ptr<catalog::RootCatalog> shared, Clock& clock);

  /// kIo and what else the catalog answers: nothing was compared.
  Result<void> compare();
  /// What is wrong with the clock and what to do; nothing where it is right, or not compared yet.
  std::optional<std::string> doubt() const;

 private:
  const std::unique_ptr<catalog::RootCatalog> shared_;
  Clock& clock_;
  mutable std::mutex mutex_;
  std::optional<std::chrono::nanoseconds> ahead_;  // of the shared clock, as last compared
};

}  // namespace strata::kb
