#pragma once

#include <cstdint>
#include <iosfwd>

#include "base/clock.h"

namespace strata::cli {

/// One line on a terminal that rewrites itself at most ten times a second. Not thread-safe.
class ProgressBar {
 public:
  /// `out` null: shows nothing. `rows_total` is not 0.
  ProgressBar(std::ostream* out, const Clock& clock, std::uint64_t rows_total);

  void show(std::uint64_t rows_done);
  /// Takes the line away, so that others can be printed.
  void clear();

 private:
  std::ostream* out_;
  const Clock& clock_;
  std::uint64_t rows_total_;
  SteadyTime started_at_;
  SteadyTime shown_at_;
  bool visible_ = false;
};

}  // namespace strata::cli
