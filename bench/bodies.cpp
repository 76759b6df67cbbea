#include "bodies.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <random>
#include <string_view>

namespace strata::bench {
namespace {

constexpr std::array<std::string_view, 4> kSites = {"north-basin", "south-basin", "east-ridge",
                                                    "harbour"};
constexpr std::uint32_t kSensors = 500;
constexpr std::uint32_t kSecondsPerDay = 86'400;

}  // namespace

std::string make_body(std::uint64_t rows, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string body;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const auto second = static_cast<std::uint32_t>((row * 5 + seed) % kSecondsPerDay);
    fmt::format_to(std::back_inserter(body),
                   R"({{"ts":"2026-06-29T{:02}:{:02}:{:02}Z","sensor_id":"sensor-{:03}",)"
                   R"("reading_celsius":{}.{:02},"site":"{}","sequence":{}}})"
                   "\n",
                   second / 3600, second / 60 % 60, second % 60, random() % kSensors, random() % 40,
                   random() % 100, kSites[random() % kSites.size()], seed * 1'000'000ULL + row);
  }
  return body;
}

}  // namespace strata::bench
