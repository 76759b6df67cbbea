#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata::ontology {

/// What the cells of a text column are, as far as 98 % of those that are not null-like agree.
enum class Type : std::uint8_t {
  kVarchar,
  kBigint,
  kDecimal,  // exact: precision and scale are those observed
  kDouble,   // only with exponents, a scale over 9 or more than 38 digits, and if it rounds none
  kDate,
  kMonth,  // `2026-06`; kept as the DATE of its first day
  kTimestamp,
  kTimestampTz,  // every such cell has an offset; kept to the microsecond, like the one above
  kBoolean,      // words only: 0 and 1 are integers
};
std::string_view type_name(Type type);  // `VARCHAR`, `BIGINT`, ... `MONTH`

struct ColumnType {
  Type type = Type::kVarchar;
  std::uint8_t precision = 0;  // of a decimal
  std::uint8_t scale = 0;
  bool operator==(const ColumnType&) const = default;
};
/// What holds every value of both as it is; nothing: text alone does.
std::optional<ColumnType> common_type(const ColumnType& one, const ColumnType& other);

/// Cells are shown up to so many characters; they are counted whole.
inline constexpr std::uint64_t kShownCharactersMax = 200;

struct CountedText {
  std::string text;
  std::uint64_t count = 0;
  bool operator==(const CountedText&) const = default;
};

/// A cell that is not what its column is, and the first by name of the batches that have it.
struct FailedCell {
  std::string text;
  std::string batch;
  bool operator==(const FailedCell&) const = default;
};

/// One column, counted exactly. Cells are trimmed; `nulls` counts NULL and null-like tokens
/// (empty, `null`, `none`, `n/a`, `na`, `nan`, `-`, `--`, `nil`, in any case). Numbers are of the
/// narrowest type that holds all of them, where 98 % of the cells are numbers.
struct ColumnProfile {
  std::string column;  // as registered
  std::uint64_t nulls = 0;
  std::uint64_t distinct = 0;       // of the cells that are not null-like
  std::uint64_t top_frequency = 0;  // of the most frequent of them
  std::uint64_t length_min = 0;     // in characters, of them
  std::uint64_t length_max = 0;
  ColumnType type;
  std::uint64_t cast_ok = 0;  // of cells that are not null-like
  std::uint64_t cast_fail = 0;
  /// A whole number behind zeros is there: the column is text, unless half of it has points.
  bool leading_zeros = false;
  std::vector<FailedCell> failed;  // at most 5, in text order
  std::vector<CountedText> top;    // at most 20, most frequent first, then in text order
  /// At most 10, of the distinct cells (of more than 200,000: of those that a hash picks): digits
  /// in a row 9, letters a and A.
  std::vector<CountedText> masks;
  // Not in the JSON: what a later step of the same job is spared to look at again.
  bool verbatim = false;     // no cell has blanks around it or is a null-like token
  bool casts_as_is = false;  // TRY_CAST to `type` is right for each that is not null-like
  bool operator==(const ColumnProfile&) const = default;
};

/// Everything that is later decided is decided from this and from what Evidence counts; the order
/// in which batches landed changes nothing in it but the order of its columns.
struct Profile {
  std::string table;  // the table's id
  std::uint64_t rows = 0;
  std::vector<ColumnProfile> columns;  // in registry order, without filename and _batch_id
  bool operator==(const Profile&) const = default;
};

/// Canonical: members in a fixed order, no blanks; equal profiles have equal bytes.
std::string to_json(const Profile& profile);

}  // namespace strata::ontology
