#include "api/event_stream.h"

#include "base/limits.h"

namespace strata::api {

Result<WatcherPlace> WatcherPlace::take(std::atomic<int>& taken) {
  WatcherPlace place(taken);
  if (++taken > limits::kEventSubscribersMax) {
    return make_error(Code::kBusy,
                      "As many are watching as this server takes; ask for the thing itself, or try "
                      "again later.");
  }
  return place;
}

std::string ChangeEvents::say(std::string state) {
  const SteadyTime now = clock_.steady();
  if (said_ != state) {
    spoke_at_ = now;
    said_ = std::move(state);
    return "data: " + *said_ + "\n\n";
  }
  if (now - spoke_at_ < kHeartbeat) return {};
  spoke_at_ = now;
  return ": nothing new\n\n";
}

http::Response event_response(std::unique_ptr<EventSource> source) {
  http::Response response;
  response.headers.emplace_back("Content-Type", "text/event-stream");
  response.headers.emplace_back("Cache-Control", "no-store");
  response.source = std::move(source);
  return response;
}

}  // namespace strata::api
