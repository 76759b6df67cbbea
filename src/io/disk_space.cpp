#include "io/disk_space.h"

#include <algorithm>

#include "base/limits.h"

namespace strata::io {
namespace {

constexpr std::uint64_t kReserveShare = 20;  // one part in so many
constexpr std::uint64_t kReserveShareOfSmall = 4;

}  // namespace

std::uint64_t DiskSpace::reserve_bytes() const {
  const std::uint64_t wanted = std::clamp(total_bytes / kReserveShare, limits::kFreeBytesReserveMin,
                                          limits::kFreeBytesReserveMax);
  return std::min(wanted, total_bytes / kReserveShareOfSmall);
}

bool DiskSpace::has_room_for(std::uint64_t bytes) const {
  if (total_bytes == 0) return true;
  return free_bytes >= reserve_bytes() && free_bytes - reserve_bytes() >= bytes;
}

}  // namespace strata::io
