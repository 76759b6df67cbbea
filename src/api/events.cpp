#include <atomic>
#include <utility>

#include "api/handlers.h"
#include "base/limits.h"
#include "stream/number_events.h"

namespace strata::api {
namespace {

/// No more than one event a second.
constexpr std::chrono::milliseconds kEventPause{1000};

/// A place among the subscribers, given back with it.
class Place {
 public:
  explicit Place(std::atomic<int>& taken) : taken_(&taken) {}
  Place(Place&& other) noexcept : taken_(std::exchange(other.taken_, nullptr)) {}
  Place& operator=(Place&&) = delete;
  ~Place() {
    if (taken_ != nullptr) --*taken_;
  }

  static Result<Place> take(std::atomic<int>& taken) {
    Place place(taken);
    if (++taken > limits::kEventSubscribersMax) {
      return make_error(Code::kBusy,
                        "As many are watching as this server takes; ask for the receiver itself, "
                        "or try again later.");
    }
    return place;
  }

 private:
  std::atomic<int>* taken_;
};

class EventsBody final : public http::BodySource {
 public:
  EventsBody(Place place, stream::Stream& stream, const Clock& clock)
      : place_(std::move(place)),
        stream_(stream),
        events_(clock, [&stream] { return stream::numbers_json(stream); }) {}

  /// Ends with the stream: numbers of a folder that was moved aside are nobody's.
  Result<std::optional<std::string>> next() override {
    STRATA_ASSIGN_OR_RETURN(const bool in_place, stream_.in_place());
    if (!in_place) return std::nullopt;
    return events_.next();
  }
  std::chrono::milliseconds pause() const override { return kEventPause; }

 private:
  Place place_;
  stream::Stream& stream_;
  stream::NumberEvents events_;
};

}  // namespace

Result<http::Response> get_events(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  STRATA_ASSIGN_OR_RETURN(Place place, Place::take(services.subscribers));
  http::Response response;
  response.headers.emplace_back("Content-Type", "text/event-stream");
  response.headers.emplace_back("Cache-Control", "no-store");
  response.source = std::make_unique<EventsBody>(std::move(place), *stream, services.clock);
  return response;
}

}  // namespace strata::api
