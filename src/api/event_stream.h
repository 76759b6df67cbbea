#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "http/message.h"

/// Something that is watched: its state as server-sent events, at most one a second, each the whole
/// of it.
namespace strata::api {

/// A place among those who watch, given back with it.
class WatcherPlace {
 public:
  /// kBusy: as many watch as may.
  static Result<WatcherPlace> take(std::atomic<int>& taken);

  WatcherPlace(WatcherPlace&& other) noexcept : taken_(std::exchange(other.taken_, nullptr)) {}
  WatcherPlace& operator=(WatcherPlace&&) = delete;
  ~WatcherPlace() {
    if (taken_ != nullptr) --*taken_;
  }

 private:
  explicit WatcherPlace(std::atomic<int>& taken) : taken_(&taken) {}

  std::atomic<int>* taken_;
};

/// An event when the state changed, a comment when nothing was said for kHeartbeat. One thread at a
/// time.
class ChangeEvents {
 public:
  static constexpr std::chrono::seconds kHeartbeat{15};

  /// `clock` outlives it.
  explicit ChangeEvents(const Clock& clock) : clock_(clock) {}

  /// What to say now that the state is this line of JSON; empty: nothing. The first call always
  /// says it.
  std::string say(std::string state);

 private:
  const Clock& clock_;
  std::optional<std::string> said_;
  SteadyTime spoke_at_{};
};

/// The base of a body of events.
class EventSource : public http::BodySource {
 public:
  std::chrono::milliseconds pause() const override { return std::chrono::seconds(1); }
};

http::Response event_response(std::unique_ptr<EventSource> source);

}  // namespace strata::api
