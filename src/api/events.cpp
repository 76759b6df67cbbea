#include <boost/json.hpp>
#include <utility>

#include "api/event_stream.h"
#include "api/handlers.h"

namespace strata::api {
namespace {

/// As a receiver's answer has them.
std::string numbers_json(stream::Stream& stream) {
  const stream::Totals totals = stream.numbers().totals();
  boost::json::object numbers{{"rows", totals.rows},
                              {"files", totals.files},
                              {"bytes", totals.bytes},
                              {"last_landed", nullptr},
                              {"rejected", stream.rejects().kept().count}};
  if (!totals.last_landed.empty()) numbers["last_landed"] = totals.last_landed;
  return boost::json::serialize(numbers);
}

class NumberEvents final : public EventSource {
 public:
  NumberEvents(WatcherPlace place, stream::Stream& stream, const Clock& clock)
      : place_(std::move(place)), stream_(stream), events_(clock) {}

  /// Ends with the stream: numbers of a folder that was moved aside are nobody's.
  Result<std::optional<std::string>> next() override {
    STRATA_ASSIGN_OR_RETURN(const bool in_place, stream_.in_place());
    if (!in_place) return std::nullopt;
    return events_.say(numbers_json(stream_));
  }

 private:
  WatcherPlace place_;
  stream::Stream& stream_;
  ChangeEvents events_;
};

}  // namespace

Result<http::Response> get_events(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  STRATA_ASSIGN_OR_RETURN(WatcherPlace place, WatcherPlace::take(services.subscribers));
  return event_response(std::make_unique<NumberEvents>(std::move(place), *stream, services.clock));
}

}  // namespace strata::api
