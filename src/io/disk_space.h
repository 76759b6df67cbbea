#pragma once

#include <cstdint>

namespace strata::io {

/// Of one file system, as an unprivileged writer meets it.
struct DiskSpace {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;  // 0: it knows no end

  /// What stays free of batches, so that there is room to work and to put things right: a
  /// twentieth of the disk, within kFreeBytesReserveMin and kFreeBytesReserveMax, but of a small
  /// disk a quarter at most.
  std::uint64_t reserve_bytes() const;
  /// Whether the reserve is still there once `bytes` more are taken.
  bool has_room_for(std::uint64_t bytes) const;
};

}  // namespace strata::io
