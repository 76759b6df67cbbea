#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace strata {

/// Wall time in nanoseconds since 1970-01-01T00:00:00Z.
using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;
using SteadyTime = std::chrono::steady_clock::time_point;

/// The only source of time in the product. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// For labels (arrival, file names of partitions); may jump.
  virtual WallTime wall() const = 0;
  /// For deadlines and leases; never goes back.
  virtual SteadyTime steady() const = 0;

  /// wall(), for whoever deletes what is old: nothing while the clock is not to be trusted, and
  /// then nothing is deleted by its age.
  std::optional<WallTime> trusted_wall() const;
  /// Whether this machine's clock goes with the one that the nodes of a root share. It is trusted
  /// until told otherwise.
  void trust(bool trusted) { trusted_.store(trusted, std::memory_order_relaxed); }

 private:
  std::atomic<bool> trusted_ = true;
};

class SystemClock final : public Clock {
 public:
  WallTime wall() const override;
  SteadyTime steady() const override;
};

/// For tests: stands still until told to move.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(WallTime start) : wall_(start) {}
  WallTime wall() const override;
  SteadyTime steady() const override;
  void advance(std::chrono::nanoseconds by);

 private:
  mutable std::mutex mutex_;
  WallTime wall_;
  SteadyTime steady_{};
};

/// `2026-06-29T00:00:00.123456Z`: UTC, microseconds, always this width, so text order is time
/// order.
std::string format_iso8601(WallTime time);
/// Reads what format_iso8601 wrote; anything else is kBadRequest.
Result<WallTime> parse_iso8601(std::string_view text);

}  // namespace strata
