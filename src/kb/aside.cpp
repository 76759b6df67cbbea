#include "kb/aside.h"

#include <fmt/format.h>

#include "base/ids.h"

namespace strata::kb {
namespace {

constexpr std::size_t kRandomBytes = 4;
constexpr std::size_t kSecondsEnd = 19;  // of `2026-11-29T23:03:46.000000Z`

}  // namespace

std::string aside_name(std::string_view id, const Clock& clock) {
  std::string time = format_iso8601(clock.wall()).substr(0, kSecondsEnd);
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  return fmt::format("{}.{}Z.{}", id, time, random_hex(kRandomBytes));
}

}  // namespace strata::kb
