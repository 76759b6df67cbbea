#pragma once

#include <cstdint>
#include <vector>

#include "duck/sql.h"
#include "ontology/profile.h"

/// What is done to a cell, and asked of it, wherever cells are counted or cast: the one place for
/// that SQL.
namespace strata::ontology {

/// What a cell looks like. A regular expression stands before every cast, because TRY_CAST alone
/// takes `inf`, `0x1F` and `1_000`, rounds, and drops offsets.
enum class CellKind : std::uint8_t {
  kText,
  kWord,      // true, false, yes, no, t, f, y, n
  kInteger,   // fits a BIGINT
  kHuge,      // an integer that does not, of at most 38 digits
  kZeros,     // a whole number behind leading zeros
  kDecimal,   // with a point
  kExponent,  // with an exponent, of at most 199
  kDate,
  kMonth,
  kTimestamp,
  kTimestampTz,
};
inline constexpr std::uint8_t kCellKinds = 11;

/// The cell without blanks around it, NULL where it is null-like; `cell` is any expression.
duck::Sql normalised(const duck::Sql& cell);
/// Of a normalised cell: a CellKind's number.
duck::Sql kind_of(const duck::Sql& cell);
/// Whether cells of a column of `type` may be spelled otherwise than ISO 8601 does.
bool has_spellings(Type type);
/// A cell whose kind is a date's, month's or timestamp's, spelled as ISO 8601 does; `type` is that
/// of its column: kDate, kMonth or kTimestamp.
duck::Sql as_iso(const duck::Sql& cell, Type type);
/// How many digits stand before and after the point, of a number without an exponent.
duck::Sql integer_digits(const duck::Sql& cell);
duck::Sql scale(const duck::Sql& cell);
/// Whether the DOUBLE that a number becomes is written as that number again. A whole number of more
/// digits than any DOUBLE is sure to keep never is: it is a name rather than an amount.
duck::Sql survives_double(const duck::Sql& cell, const duck::Sql& kind);
/// Whether an expression is one of `kinds`, of which there is one at least.
duck::Sql is_one_of(const duck::Sql& kind, const std::vector<CellKind>& kinds);

/// The kinds of cells that are what `type` says; empty for kVarchar, which every cell is.
std::vector<CellKind> kinds_of(Type type);

/// 64 bits of MD5: equal in every version of the engine, whatever the order of rows. Says which
/// values a sample keeps.
duck::Sql stable_hash(const duck::Sql& text);

}  // namespace strata::ontology
