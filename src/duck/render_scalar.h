#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Single values of DuckDB's types as text, in UTC. What DuckDB's own cast to VARCHAR gives is kept
/// but for dates and timestamps (ISO 8601, with `T`, and `Z` where the type has a time zone) and
/// the names of the numbers that are none.
namespace strata::duck {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

/// Shortest text that reads back as the same value; `NaN`, `Infinity`, `-Infinity`.
void append_double(std::string& out, double value);
void append_float(std::string& out, float value);
void append_int128(std::string& out, Int128 value);
void append_uint128(std::string& out, Uint128 value);
/// `unscaled` / 10^scale with exactly `scale` decimals.
void append_decimal(std::string& out, Int128 unscaled, unsigned scale);

/// Days since 1970-01-01. Years beyond 0 to 9999 have a sign and six digits (ISO 8601 expanded).
void append_date(std::string& out, std::int32_t days);
/// Ticks since 1970-01-01T00:00:00; the fraction without trailing zeros.
void append_timestamp(std::string& out, std::int64_t ticks, std::int64_t ticks_per_second);
/// Ticks since midnight, up to 24:00:00.
void append_time(std::string& out, std::int64_t ticks, std::int64_t ticks_per_second);
/// As DuckDB packs TIME WITH TIME ZONE; `12:00:00+02:00`.
void append_time_tz(std::string& out, std::uint64_t bits);

struct IntervalParts {
  std::int32_t months = 0;
  std::int32_t days = 0;
  std::int64_t micros = 0;
};
/// `1 year 2 months 3 days 04:05:06.7`
void append_interval(std::string& out, const IntervalParts& interval);

/// As DuckDB stores a UUID: a HUGEINT with its sign bit flipped.
void append_uuid(std::string& out, Int128 stored);
/// As DuckDB stores a BIT: one byte that counts the padding bits, then the bits.
void append_bit(std::string& out, std::string_view stored);
/// As DuckDB stores a BIGNUM: three bytes of sign and length, then the magnitude, highest byte
/// first; all of it inverted when negative.
void append_bignum(std::string& out, std::string_view stored);

}  // namespace strata::duck
