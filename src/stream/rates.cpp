#include "stream/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/numbered.h"

namespace strata::stream {

using std::chrono::seconds;

namespace {

/// Longer than Numbers keeps what it read of other processes.
constexpr seconds kLookAfterChange{3};

}  // namespace

Rates::Rates(io::FileSystem& fs, const Clock& clock, Numbers& numbers,
             std::unique_ptr<io::Directory> folder)
    : fs_(fs), clock_(clock), numbers_(numbers), folder_(std::move(folder)) {
  rings_ = {{"5m", seconds(300 / kPoints), {}},
            {"1h", seconds(3'600 / kPoints), {}},
            {"24h", seconds(86'400 / kPoints), {}}};
}

Result<std::unique_ptr<Rates>> Rates::open(io::FileSystem& fs, const Clock& clock,
                                           io::Publisher& publisher, Numbers& numbers) {
  STRATA_ASSIGN_OR_RETURN(auto folder, io::ensure_directory(fs, {publisher.stream(), "numbers"}));
  return std::make_unique<Rates>(fs, clock, numbers, std::move(folder));
}

WallTime Rates::Ring::begin_of(WallTime time) const {
  const auto whole = std::chrono::floor<seconds>(time).time_since_epoch();
  return WallTime(whole - whole % bucket);
}

void Rates::Ring::add(WallTime now, const Point& grown) {
  const WallTime at = begin_of(now);
  // A clock that was set back adds to the newest bucket: points stay in order.
  if (points.empty() || points.back().at < at) points.push_back({.at = at});
  points.back().rows += grown.rows;
  points.back().batches += grown.batches;
  while (points.front().at <= at - kPoints * bucket) points.pop_front();
}

/// Reading the numbers means reading the checkpoints of other processes; a stream at rest has none
/// that is new. After a change it is looked at for a while: Numbers may still answer what it read
/// before, and a second change within one tick of the file system's clock does not show in the
/// folder's time.
bool Rates::may_have_grown() {
  const auto stat = fs_.stat_handle(*folder_);
  const bool changed = !stat || stat->modified_ns != folder_modified_ns_;
  if (stat) folder_modified_ns_ = stat->modified_ns;
  if (changed) look_until_ = clock_.steady() + kLookAfterChange;
  return !seen_ || clock_.steady() <= look_until_;
}

void Rates::sample() {
  const std::lock_guard lock(mutex_);
  if (!may_have_grown()) return;
  const Totals now = numbers_.totals();
  const WallTime time = clock_.wall();
  if (!seen_) since_ = time;
  // A recount may find that there is less than was thought: nothing came, then.
  const Totals before = seen_.value_or(now);
  const Point grown{.rows = now.rows > before.rows ? now.rows - before.rows : 0,
                    .batches = now.files > before.files ? now.files - before.files : 0};
  seen_ = now;
  if (grown.rows == 0 && grown.batches == 0) return;
  for (Ring& ring : rings_) ring.add(time, grown);
}

Result<Rates::Series> Rates::series(std::string_view window) {
  sample();
  const std::lock_guard lock(mutex_);
  const auto ring = std::ranges::find(rings_, window, &Ring::window);
  if (ring == rings_.end()) {
    return make_error(Code::kBadRequest,
                      fmt::format("'{}' is no window there is; ask for 5m, 1h or 24h.", window));
  }
  Series series{.since = since_, .bucket = ring->bucket, .points = {}};
  const WallTime last = ring->begin_of(clock_.wall());
  for (std::int64_t back = kPoints - 1; back >= 0; --back) {
    Point point{.at = last - back * ring->bucket};
    if (point.at + ring->bucket <= since_) continue;
    const auto seen = std::ranges::find(ring->points, point.at, &Point::at);
    series.points.push_back(seen == ring->points.end() ? point : *seen);
  }
  return series;
}

}  // namespace strata::stream
