#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace strata::bench {

using Latency = std::chrono::steady_clock::duration;

/// `"p50_ms":...,"p99_ms":...` of them; zeros where there are none.
std::string percentiles_json(std::vector<Latency> latencies);

}  // namespace strata::bench
