#pragma once

#include <cstdint>
#include <string>

namespace strata::parquet {

/// Parquet's hybrid of run-length and bit-packed values: definition levels and dictionary indices.
/// Runs of eight and more become one run, whatever their length; the rest is packed in groups of
/// eight. Appends to `out`, which outlives it. Call finish() once, at the end.
class RunEncoder {
 public:
  /// `bit_width`: 1 to 32; every value fits in it.
  RunEncoder(std::string& out, unsigned bit_width) : out_(out), bit_width_(bit_width) {}

  void put(std::uint32_t value, std::uint64_t count = 1) {
    if (count == 0) return;  // nothing that could end a run
    if (value == run_value_) {
      run_length_ += count;
      return;
    }
    close_run();
    run_value_ = value;
    run_length_ = count;
  }
  void finish();

 private:
  static constexpr std::uint64_t kGroup = 8;
  /// So that a packed run's header is one byte, which is reserved before its groups are known.
  static constexpr std::uint64_t kPackedGroupsMax = 63;

  void close_run();
  void pack(std::uint32_t value);
  void close_packed();

  std::string& out_;
  const unsigned bit_width_;
  std::uint32_t run_value_ = 0;
  std::uint64_t run_length_ = 0;
  // The packed run that is open, if packed_values_ > 0.
  std::size_t header_at_ = 0;
  std::uint64_t packed_values_ = 0;
  std::uint64_t bits_ = 0;
  unsigned bit_count_ = 0;
};

/// How many bits every index below `count` fits in; at least 1.
unsigned index_bit_width(std::uint64_t count);

}  // namespace strata::parquet
