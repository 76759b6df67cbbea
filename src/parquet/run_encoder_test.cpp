#include "parquet/run_encoder.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace strata::parquet {
namespace {

/// The format's own description, read literally: a run's header, then one value or packed groups.
std::vector<std::uint32_t> decode(std::string_view bytes, unsigned bit_width) {
  std::vector<std::uint32_t> values;
  std::size_t at = 0;
  const auto byte = [&] { return static_cast<unsigned char>(bytes.at(at++)); };
  while (at < bytes.size()) {
    std::uint64_t header = 0;
    for (unsigned shift = 0;; shift += 7) {
      const unsigned part = byte();
      header |= std::uint64_t{part & 0x7FU} << shift;
      if (part < 0x80U) break;
    }
    if ((header & 1U) == 0) {
      std::uint32_t value = 0;
      for (unsigned shift = 0; shift < bit_width; shift += 8)
        value |= std::uint32_t{byte()} << shift;
      values.insert(values.end(), header >> 1U, value);
      continue;
    }
    const std::size_t first_bit = 8 * at;
    const std::uint64_t count = 8 * (header >> 1U);
    for (std::uint64_t index = 0; index < count; ++index) {
      std::uint32_t value = 0;
      for (unsigned bit = 0; bit < bit_width; ++bit) {
        const std::size_t place = first_bit + index * bit_width + bit;
        const auto holder = static_cast<unsigned char>(bytes.at(place / 8));
        value |= static_cast<std::uint32_t>((holder >> (place % 8)) & 1U) << bit;
      }
      values.push_back(value);
    }
    at += count * bit_width / 8;
  }
  return values;
}

std::string encode(const std::vector<std::uint32_t>& values, unsigned bit_width) {
  std::string bytes;
  RunEncoder encoder(bytes, bit_width);
  for (const std::uint32_t value : values) encoder.put(value);
  encoder.finish();
  return bytes;
}

/// Equal, but for the values that fill the last packed group.
void expect_round_trip(const std::vector<std::uint32_t>& values, unsigned bit_width) {
  std::vector<std::uint32_t> decoded = decode(encode(values, bit_width), bit_width);
  ASSERT_GE(decoded.size(), values.size());
  ASSERT_LT(decoded.size(), values.size() + 8);
  decoded.resize(values.size());
  ASSERT_EQ(decoded, values);
}

TEST(RunEncoder, TheExamplesOfTheFormat) {
  EXPECT_EQ(encode(std::vector<std::uint32_t>(1000, 1), 1), "\xd0\x0f\x01");
  EXPECT_EQ(encode({0, 1, 2, 3, 4, 5, 6, 7}, 3), "\x03\x88\xc6\xfa");
  EXPECT_EQ(encode({}, 1), "");
}

TEST(RunEncoder, ACountIsAsManyPuts) {
  std::string counted;
  RunEncoder encoder(counted, 2);
  encoder.put(1, 3);
  encoder.put(2, 0);  // ends no run
  encoder.put(1, 40);
  encoder.put(3, 9);
  encoder.finish();
  std::vector<std::uint32_t> values(43, 1);
  values.insert(values.end(), 9, 3);
  EXPECT_EQ(counted, encode(values, 2));
}

TEST(RunEncoder, WhateverTheRunsAreWhatWasPutComesBack) {
  std::mt19937 source(7);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(source() % end); };
  for (int round = 0; round < 2000; ++round) {
    const unsigned bit_width = 1 + below(20);
    const std::uint32_t values_max = 1U << bit_width;
    std::vector<std::uint32_t> values;
    for (unsigned runs = below(40); runs > 0; --runs) {
      const std::uint32_t value = below(values_max);
      values.insert(values.end(), below(3) == 0 ? below(700) : 1 + below(9), value);
    }
    ASSERT_NO_FATAL_FAILURE(expect_round_trip(values, bit_width)) << round;
  }
}

TEST(RunEncoder, AnIndexFitsInItsWidth) {
  EXPECT_EQ(index_bit_width(1), 1U);
  EXPECT_EQ(index_bit_width(2), 1U);
  EXPECT_EQ(index_bit_width(3), 2U);
  EXPECT_EQ(index_bit_width(256), 8U);
  EXPECT_EQ(index_bit_width(257), 9U);
}

}  // namespace
}  // namespace strata::parquet
