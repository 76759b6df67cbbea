#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "io/file_system.h"
#include "io/publish.h"
#include "stream/numbers.h"

namespace strata::stream {

/// How fast a stream grew lately, for a chart. Made of the stream's numbers as they are seen once a
/// second, so what other processes land is in it, up to two seconds late; held in memory, so it
/// begins with this process and says when that was. Thread-safe.
class Rates {
 public:
  /// `numbers` and the others outlive it.
  static Result<std::unique_ptr<Rates>> open(io::FileSystem& fs, const Clock& clock,
                                             io::Publisher& publisher, Numbers& numbers);

  /// Adds what came since the last one; about once a second. The first sets out from what is there.
  void sample();

  struct Point {
    WallTime at{};  // the bucket's beginning
    std::uint64_t rows = 0;
    std::uint64_t batches = 0;
  };
  struct Series {
    WallTime since{};  // nothing is known of what came before
    std::chrono::seconds bucket{0};
    std::vector<Point> points;  // oldest first, the last one is under way; none from before `since`
  };
  /// `window`: 5m, 1h or 24h, in kPoints buckets. kBadRequest: another.
  Result<Series> series(std::string_view window);

  static constexpr std::int64_t kPoints = 60;

  Rates(io::FileSystem& fs, const Clock& clock, Numbers& numbers,
        std::unique_ptr<io::Directory> folder);

 private:
  /// One window's buckets that saw something, oldest first.
  struct Ring {
    std::string_view window;
    std::chrono::seconds bucket;
    std::deque<Point> points;

    WallTime begin_of(WallTime time) const;
    void add(WallTime now, const Point& grown);
  };
  bool may_have_grown();

  io::FileSystem& fs_;
  const Clock& clock_;
  Numbers& numbers_;
  const std::unique_ptr<io::Directory> folder_;
  std::mutex mutex_;  // guards what follows
  std::vector<Ring> rings_;
  std::optional<Totals> seen_;  // at the last sample
  WallTime since_{};
  std::int64_t folder_modified_ns_ = -1;
  SteadyTime look_until_{};
};

}  // namespace strata::stream
