#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/text.h"

namespace strata::cli {
namespace {

constexpr std::chrono::milliseconds kRedrawEvery{100};
constexpr std::uint64_t kCells = 30;

}  // namespace

ProgressBar::ProgressBar(std::ostream* out, const Clock& clock, std::uint64_t rows_total)
    : out_(out),
      clock_(clock),
      rows_total_(rows_total),
      started_at_(clock.steady()),
      shown_at_(started_at_) {}

void ProgressBar::show(std::uint64_t rows_done) {
  if (out_ == nullptr) return;
  const SteadyTime now = clock_.steady();
  if (visible_ && now - shown_at_ < kRedrawEvery) return;
  shown_at_ = now;
  visible_ = true;
  const std::uint64_t filled = std::min(rows_done * kCells / rows_total_, kCells);
  const double seconds = std::chrono::duration<double>(now - started_at_).count();
  *out_ << fmt::format("\r\x1b[K[{:#<{}}{:-<{}}] {:3}%  {}  {:.1f} s", "", filled, "",
                       kCells - filled, rows_done * 100 / rows_total_, counted(rows_done, "row"),
                       seconds)
        << std::flush;
}

void ProgressBar::clear() {
  if (!visible_) return;
  *out_ << "\r\x1b[K" << std::flush;
  visible_ = false;
}

}  // namespace strata::cli
