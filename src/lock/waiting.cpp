#include "lock/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>

namespace strata::lock {

Result<std::unique_ptr<Lease>> wait_for_lease(
    const Clock& clock, const LockRequest& request, PauseRange pauses,
    AcquisitionCounter& acquisitions,
    const std::function<Result<std::unique_ptr<Lease>>()>& try_once) {
  const SteadyTime deadline = clock.steady() + request.wait;
  std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<std::int64_t> pause_ms(pauses.min.count(), pauses.max.count());
  while (true) {
    auto lease = try_once();
    if (lease) acquisitions.add({request.kb, request.stream, request.purpose});
    if (lease || lease.error().code != Code::kBusy) return lease;
    const auto left = deadline - clock.steady();
    if (left <= SteadyTime::duration::zero()) {
      return make_error(
          Code::kBusy,
          fmt::format("Somebody else is changing knowledgebase '{}'; try again in a moment.",
                      request.kb),
          lease.error().detail);
    }
    std::this_thread::sleep_for(
        std::min<SteadyTime::duration>(left, std::chrono::milliseconds(pause_ms(random))));
  }
}

}  // namespace strata::lock
