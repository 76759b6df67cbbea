#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ndjson/sip_hash.h"

namespace strata::ndjson {

/// Why a record's key is no column of the batch.
enum class ColumnProblem : std::uint8_t {
  kIllegalName,    // column_name_problem
  kOtherSpelling,  // registered under another ASCII case
  kNotRegistered,
  kCaseClash,  // another ASCII case of it stands in this batch
  kTooMany,
};

struct ColumnFault {
  ColumnProblem problem = ColumnProblem::kIllegalName;
  std::uint32_t other = 0;  // the column it clashes with
};

/// The columns of one batch. One key costs O(1), whatever the keys: a guess from the key before
/// it, else one lookup under a secret hash. Not thread-safe.
class ColumnTable {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// `registered`: the only columns allowed, exact spelling; empty: any.
  explicit ColumnTable(std::span<const std::string> registered);

  /// The column that last followed `previous` (kNone: that last began a record); kNone if unknown.
  std::uint32_t guess_after(std::uint32_t previous) const {
    return previous == kNone ? first_ : columns_[previous].next;
  }
  void remember_after(std::uint32_t previous, std::uint32_t column) {
    (previous == kNone ? first_ : columns_[previous].next) = column;
  }

  /// The key as JSON writes it, quotes included; empty for a name that needs escapes.
  std::string_view quoted_name(std::uint32_t column) const { return columns_[column].quoted; }
  std::string_view name(std::uint32_t column) const { return columns_[column].name; }

  std::expected<std::uint32_t, ColumnFault> find_or_add(std::string_view name);

  /// Notes that `column` stands in `line` (from 1, never falling); false if it already did.
  bool mark(std::uint32_t column, std::uint64_t line) {
    Column& entry = columns_[column];
    if (entry.last_line == line) return false;
    entry.last_line = line;
    if (entry.output == kNone) appear(entry, line);
    return true;
  }
  /// The index of a marked column in names(), which is in order of first appearance.
  std::uint32_t output_index(std::uint32_t column) const { return columns_[column].output; }
  std::vector<std::string> take_names() { return std::move(names_); }

  /// A sentence about the key `name` that find_or_add refused.
  std::string describe(const ColumnFault& fault, std::string_view name) const;

 private:
  struct Column {
    std::string name;
    std::string quoted;
    std::uint64_t hash = 0;  // of the name in lower case
    std::uint64_t first_line = 0;
    std::uint64_t last_line = 0;
    std::uint32_t next = kNone;
    std::uint32_t output = kNone;
  };

  void appear(Column& column, std::uint64_t line);
  std::uint32_t add(std::string_view name, std::uint64_t hash, std::size_t slot);
  std::string registered_names() const;

  HashKey key_;
  bool closed_;  // only registered columns
  std::vector<Column> columns_;
  std::vector<std::uint32_t> slots_;  // open addressing: index into columns_ plus 1, 0 for free
  std::uint32_t first_ = kNone;
  std::vector<std::string> names_;
};

}  // namespace strata::ndjson
