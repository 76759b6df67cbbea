#include "duck/render_scalar.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <vector>

namespace strata::duck {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;

template <typename Float>
void append_floating(std::string& out, Float value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
  } else {
    std::array<char, 64> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    out.append(buffer.data(), end);
  }
}

struct Division {
  std::int64_t quotient;
  std::int64_t remainder;  // never negative
};

Division floor_divide(std::int64_t value, std::int64_t by) {
  Division result{value / by, value % by};
  if (result.remainder < 0) {
    result.remainder += by;
    --result.quotient;
  }
  return result;
}

/// The Gregorian calendar of ISO 8601, run backwards before 1582 as DuckDB does (Hinnant,
/// "chrono-compatible low-level date algorithms"). std::chrono's years end at 32767.
void append_civil_date(std::string& out, std::int64_t days) {
  const Division era = floor_divide(days + 719'468, 146'097);
  const std::int64_t day_of_era = era.remainder;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month_index = (5 * day_of_year + 2) / 153;
  const std::int64_t day = day_of_year - (153 * month_index + 2) / 5 + 1;
  const std::int64_t month = month_index < 10 ? month_index + 3 : month_index - 9;
  const std::int64_t year = year_of_era + era.quotient * 400 + (month <= 2 ? 1 : 0);
  if (year >= 0 && year <= 9'999) {
    fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}", year, month, day);
  } else {
    fmt::format_to(std::back_inserter(out), "{:+07}-{:02}-{:02}", year, month, day);
  }
}

/// `.5` of 500,000 ticks at 1,000,000 a second; nothing of 0.
void append_fraction(std::string& out, std::int64_t ticks, std::int64_t ticks_per_second) {
  if (ticks == 0) return;
  out += '.';
  for (std::int64_t unit = ticks_per_second / 10; ticks != 0; unit /= 10) {
    out += static_cast<char>('0' + ticks / unit);
    ticks %= unit;
  }
}

void append_clock(std::string& out, std::int64_t seconds) {
  fmt::format_to(std::back_inserter(out), "{:02}:{:02}:{:02}", seconds / 3'600, seconds / 60 % 60,
                 seconds % 60);
}

/// DuckDB's values for the ends of time.
template <typename Integer>
bool append_infinity(std::string& out, Integer value) {
  constexpr Integer kInfinity = std::numeric_limits<Integer>::max();
  if (value == kInfinity) {
    out += "infinity";
  } else if (value == -kInfinity) {
    out += "-infinity";
  } else {
    return false;
  }
  return true;
}

void append_unit(std::string& out, std::size_t begin, std::int64_t count, std::string_view unit) {
  if (count == 0) return;
  if (out.size() != begin) out += ' ';
  fmt::format_to(std::back_inserter(out), "{} {}{}", count, unit,
                 count == 1 || count == -1 ? "" : "s");
}

}  // namespace

void append_double(std::string& out, double value) { append_floating(out, value); }

void append_float(std::string& out, float value) { append_floating(out, value); }

void append_uint128(std::string& out, Uint128 value) {
  std::array<char, 40> digits;
  std::size_t begin = digits.size();
  do {
    digits[--begin] = static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  out.append(digits.data() + begin, digits.size() - begin);
}

void append_int128(std::string& out, Int128 value) {
  if (value < 0) out += '-';
  // Negated without sign: the lowest value has no positive twin.
  append_uint128(out, value < 0 ? -static_cast<Uint128>(value) : static_cast<Uint128>(value));
}

void append_decimal(std::string& out, Int128 unscaled, unsigned scale) {
  if (unscaled < 0) out += '-';
  std::string digits;
  append_uint128(digits,
                 unscaled < 0 ? -static_cast<Uint128>(unscaled) : static_cast<Uint128>(unscaled));
  if (digits.size() <= scale) digits.insert(0, scale + 1 - digits.size(), '0');
  out.append(digits, 0, digits.size() - scale);
  if (scale == 0) return;
  out += '.';
  out.append(digits, digits.size() - scale);
}

void append_date(std::string& out, std::int32_t days) {
  if (!append_infinity(out, days)) append_civil_date(out, days);
}

void append_timestamp(std::string& out, std::int64_t ticks, std::int64_t ticks_per_second) {
  if (append_infinity(out, ticks)) return;
  const Division seconds = floor_divide(ticks, ticks_per_second);
  const Division days = floor_divide(seconds.quotient, kSecondsPerDay);
  append_civil_date(out, days.quotient);
  out += 'T';
  append_clock(out, days.remainder);
  append_fraction(out, seconds.remainder, ticks_per_second);
}

void append_time(std::string& out, std::int64_t ticks, std::int64_t ticks_per_second) {
  append_clock(out, ticks / ticks_per_second);
  append_fraction(out, ticks % ticks_per_second, ticks_per_second);
}

void append_time_tz(std::string& out, std::uint64_t bits) {
  // 40 bits of microseconds, then 24 bits of offset, stored as its distance from the highest one.
  constexpr std::int64_t kOffsetMax = 16 * 3'600 - 1;
  append_time(out, static_cast<std::int64_t>(bits >> 24U), 1'000'000);
  const std::int64_t offset = kOffsetMax - static_cast<std::int64_t>(bits & 0xFF'FFFFU);
  const std::int64_t distance = offset < 0 ? -offset : offset;
  fmt::format_to(std::back_inserter(out), "{}{:02}:{:02}", offset < 0 ? '-' : '+', distance / 3'600,
                 distance / 60 % 60);
  if (distance % 60 != 0) fmt::format_to(std::back_inserter(out), ":{:02}", distance % 60);
}

void append_interval(std::string& out, const IntervalParts& interval) {
  const std::size_t begin = out.size();
  append_unit(out, begin, interval.months / 12, "year");
  append_unit(out, begin, interval.months % 12, "month");
  append_unit(out, begin, interval.days, "day");
  if (interval.micros == 0 && out.size() != begin) return;
  if (out.size() != begin) out += ' ';
  if (interval.micros < 0) out += '-';
  // Second by second, because the lowest value has no positive twin.
  const std::int64_t seconds = interval.micros / 1'000'000;
  const std::int64_t rest = interval.micros % 1'000'000;
  append_clock(out, seconds < 0 ? -seconds : seconds);
  append_fraction(out, rest < 0 ? -rest : rest, 1'000'000);
}

void append_uuid(std::string& out, Int128 stored) {
  const Uint128 value = static_cast<Uint128>(stored) ^ (static_cast<Uint128>(1) << 127U);
  const std::string hex = fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(value >> 64U),
                                      static_cast<std::uint64_t>(value));
  for (const auto& [begin, length] :
       std::array<std::array<std::size_t, 2>, 5>{{{0, 8}, {8, 4}, {12, 4}, {16, 4}, {20, 12}}}) {
    if (begin != 0) out += '-';
    out.append(hex, begin, length);
  }
}

void append_bit(std::string& out, std::string_view stored) {
  if (stored.empty()) return;
  const std::size_t padding = static_cast<unsigned char>(stored[0]);
  for (std::size_t bit = padding; bit < (stored.size() - 1) * 8; ++bit) {
    const unsigned byte = static_cast<unsigned char>(stored[1 + bit / 8]);
    out += ((byte >> (7 - bit % 8)) & 1U) != 0 ? '1' : '0';
  }
}

void append_bignum(std::string& out, std::string_view stored) {
  constexpr std::size_t kHeaderBytes = 3;
  if (stored.size() <= kHeaderBytes) return;
  const bool negative = (static_cast<unsigned char>(stored[0]) & 0x80U) == 0;
  std::vector<std::uint32_t> groups;  // base 10^9, lowest first
  for (const char stored_byte : stored.substr(kHeaderBytes)) {
    const unsigned byte = static_cast<unsigned char>(stored_byte);
    std::uint64_t carry = negative ? byte ^ 0xFFU : byte;
    for (std::uint32_t& group : groups) {
      carry += static_cast<std::uint64_t>(group) << 8U;
      group = static_cast<std::uint32_t>(carry % 1'000'000'000);
      carry /= 1'000'000'000;
    }
    if (carry != 0) groups.push_back(static_cast<std::uint32_t>(carry));
  }
  if (groups.empty()) groups.push_back(0);
  if (negative) out += '-';
  fmt::format_to(std::back_inserter(out), "{}", groups.back());
  for (std::size_t index = groups.size() - 1; index > 0; --index) {
    fmt::format_to(std::back_inserter(out), "{:09}", groups[index - 1]);
  }
}

}  // namespace strata::duck
