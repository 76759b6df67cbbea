#include "parquet/run_encoder.h"

#include <algorithm>
#include <bit>

#include "parquet/varint.h"

namespace strata::parquet {

void RunEncoder::close_run() {
  // A packed run holds whole groups: the values that fill its last one come out of this run.
  while (run_length_ > 0 && packed_values_ % kGroup != 0) {
    pack(run_value_);
    --run_length_;
  }
  if (run_length_ >= kGroup) {
    close_packed();
    append_varint(out_, run_length_ << 1U);
    for (unsigned shift = 0; shift < bit_width_; shift += 8) {
      out_.push_back(static_cast<char>(run_value_ >> shift));
    }
    run_length_ = 0;
  }
  for (; run_length_ > 0; --run_length_) pack(run_value_);
}

void RunEncoder::pack(std::uint32_t value) {
  if (packed_values_ == kPackedGroupsMax * kGroup) close_packed();
  if (packed_values_ == 0) {
    header_at_ = out_.size();
    out_.push_back('\0');
  }
  bits_ |= std::uint64_t{value} << bit_count_;
  bit_count_ += bit_width_;
  ++packed_values_;
  for (; bit_count_ >= 8; bit_count_ -= 8, bits_ >>= 8U) out_.push_back(static_cast<char>(bits_));
}

void RunEncoder::close_packed() {
  if (packed_values_ == 0) return;
  while (packed_values_ % kGroup != 0) pack(0);
  out_[header_at_] = static_cast<char>(((packed_values_ / kGroup) << 1U) | 1U);
  packed_values_ = 0;
}

void RunEncoder::finish() {
  close_run();
  close_packed();
}

unsigned index_bit_width(std::uint64_t count) {
  return std::max(1U, static_cast<unsigned>(std::bit_width(count == 0 ? 0 : count - 1)));
}

}  // namespace strata::parquet
