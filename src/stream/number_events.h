#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"

namespace strata::stream {

class Stream;

/// A stream's numbers as server-sent events: an event when they changed, a comment when nothing was
/// said for kHeartbeat. One thread at a time.
class NumberEvents {
 public:
  static constexpr std::chrono::seconds kHeartbeat{15};

  /// `read` answers the numbers as one line of JSON. Both outlive it.
  NumberEvents(const Clock& clock, std::function<std::string()> read);

  /// What to say now; empty: nothing. The first call always says the numbers.
  std::string next();

 private:
  const Clock& clock_;
  std::function<std::string()> read_;
  std::optional<std::string> said_;
  SteadyTime spoke_at_{};
};

/// `{"rows","files","bytes","last_landed","rejected"}` as a receiver's answer has them.
std::string numbers_json(Stream& stream);

}  // namespace strata::stream
