#include "io/disk_space.h"

#include <gtest/gtest.h>

namespace strata::io {
namespace {

constexpr std::uint64_t kMebibyte = 1024ULL * 1024;
constexpr std::uint64_t kGibibyte = 1024 * kMebibyte;

TEST(DiskSpace, KeepsATwentiethWithinLimitsAndOfASmallDiskAQuarter) {
  const struct {
    std::uint64_t total_bytes;
    std::uint64_t reserve_bytes;
  } cases[] = {
      {0, 0},
      {4 * kMebibyte, kMebibyte},
      {96 * kMebibyte, 24 * kMebibyte},
      {256 * kMebibyte, 64 * kMebibyte},
      {kGibibyte, 64 * kMebibyte},
      {10 * kGibibyte, 512 * kMebibyte},
      {20 * kGibibyte, kGibibyte},
      {9'000 * kGibibyte, kGibibyte},
  };
  for (const auto& [total, reserve] : cases) {
    const DiskSpace full{.free_bytes = 0, .total_bytes = total};
    EXPECT_EQ(full.reserve_bytes(), reserve) << total;
    EXPECT_EQ(full.has_room_for(0), total == 0) << total;
    EXPECT_TRUE((DiskSpace{reserve + 10, total}.has_room_for(10))) << total;
    EXPECT_EQ((DiskSpace{reserve + 10, total}.has_room_for(11)), total == 0) << total;
  }
}

}  // namespace
}  // namespace strata::io
