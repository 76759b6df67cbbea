#include "stream/number_events.h"

#include <boost/json.hpp>
#include <utility>

#include "stream/stream.h"

namespace strata::stream {

NumberEvents::NumberEvents(const Clock& clock, std::function<std::string()> read)
    : clock_(clock), read_(std::move(read)) {}

std::string NumberEvents::next() {
  std::string numbers = read_();
  const SteadyTime now = clock_.steady();
  if (said_ != numbers) {
    spoke_at_ = now;
    said_ = std::move(numbers);
    return "data: " + *said_ + "\n\n";
  }
  if (now - spoke_at_ < kHeartbeat) return {};
  spoke_at_ = now;
  return ": nothing new\n\n";
}

std::string numbers_json(Stream& stream) {
  const Totals totals = stream.numbers().totals();
  boost::json::object numbers{{"rows", totals.rows},
                              {"files", totals.files},
                              {"bytes", totals.bytes},
                              {"last_landed", nullptr},
                              {"rejected", stream.rejects().kept().count}};
  if (!totals.last_landed.empty()) numbers["last_landed"] = totals.last_landed;
  return boost::json::serialize(numbers);
}

}  // namespace strata::stream
