#include "latencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace strata::bench {
namespace {

/// `sorted` ascends.
double percentile_ms(const std::vector<Latency>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto index = static_cast<std::size_t>(static_cast<double>(sorted.size() - 1) * share);
  return std::chrono::duration<double, std::milli>(sorted[index]).count();
}

}  // namespace

std::string percentiles_json(std::vector<Latency> latencies) {
  std::ranges::sort(latencies);
  return fmt::format(R"("p50_ms":{:.3f},"p99_ms":{:.3f})", percentile_ms(latencies, 0.5),
                     percentile_ms(latencies, 0.99));
}

}  // namespace strata::bench
