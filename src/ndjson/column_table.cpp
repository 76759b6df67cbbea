#include "ndjson/column_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "base/limits.h"
#include "ndjson/column_names.h"
#include "ndjson/parse.h"
#include "ndjson/text.h"

namespace strata::ndjson {
namespace {

/// Registered names shown beside one that is not: enough to spot a misspelling, not a page.
constexpr std::size_t kNamesShownMax = 12;

/// ASCII only, as DuckDB folds (duckdb-facts.md A3).
char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, folded, folded);
}

std::uint64_t folded_hash(const HashKey& key, std::string_view name) {
  STRATA_CHECK(name.size() <= limits::kColumnNameBytesMax);
  std::array<char, limits::kColumnNameBytesMax> lower;
  std::ranges::transform(name, lower.begin(), folded);
  return sip_hash(key, {lower.data(), name.size()});
}

std::string quoted_as_json(std::string_view name) {
  if (name.find_first_of("\"\\") != std::string_view::npos) return {};
  return fmt::format("\"{}\"", name);
}

}  // namespace

ColumnTable::ColumnTable(std::span<const std::string> registered)
    : key_(HashKey::random()),
      closed_(!registered.empty()),
      slots_(std::bit_ceil(2 * std::max(registered.size(), limits::kColumnsPerStreamMax)), 0) {
  columns_.reserve(registered.size());
  for (const std::string& name : registered) {
    const std::uint64_t hash = folded_hash(key_, name);
    std::size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    add(name, hash, slot);
  }
}

std::expected<std::uint32_t, ColumnFault> ColumnTable::find_or_add(std::string_view name) {
  const auto refuse = [](ColumnProblem problem, std::uint32_t other = kNone) {
    return std::unexpected(ColumnFault{problem, other});
  };
  if (name.size() > limits::kColumnNameBytesMax) return refuse(ColumnProblem::kIllegalName);
  const std::uint64_t hash = folded_hash(key_, name);
  std::size_t slot = hash & (slots_.size() - 1);
  std::uint32_t other_case = kNone;
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const std::uint32_t index = slots_[slot] - 1;
    const Column& column = columns_[index];
    if (column.hash != hash) continue;
    if (column.name == name) return index;
    if (equal_but_for_case(column.name, name)) other_case = index;
  }
  if (!is_legal_column(name)) return refuse(ColumnProblem::kIllegalName);
  if (other_case != kNone) {
    return refuse(closed_ ? ColumnProblem::kOtherSpelling : ColumnProblem::kCaseClash, other_case);
  }
  if (closed_) return refuse(ColumnProblem::kNotRegistered);
  if (columns_.size() == limits::kColumnsPerStreamMax) return refuse(ColumnProblem::kTooMany);
  return add(name, hash, slot);
}

std::uint32_t ColumnTable::add(std::string_view name, std::uint64_t hash, std::size_t slot) {
  const auto index = static_cast<std::uint32_t>(columns_.size());
  columns_.push_back({.name = std::string(name), .quoted = quoted_as_json(name), .hash = hash});
  slots_[slot] = index + 1;
  return index;
}

void ColumnTable::appear(Column& column, std::uint64_t line) {
  column.first_line = line;
  column.output = static_cast<std::uint32_t>(names_.size());
  names_.push_back(column.name);
}

std::string ColumnTable::describe(const ColumnFault& fault, std::string_view name) const {
  switch (fault.problem) {
    case ColumnProblem::kIllegalName:
      return column_name_problem(name);
    case ColumnProblem::kOtherSpelling:
      return fmt::format("The column {} is registered as {}: send that spelling.", shown(name),
                         shown(columns_[fault.other].name));
    case ColumnProblem::kNotRegistered:
      return fmt::format("The column {} is not registered for this stream: it takes {}.",
                         shown(name), registered_names());
    case ColumnProblem::kCaseClash:
      return fmt::format(
          "The column {} differs only in case from {}, first seen in line {}: use one spelling.",
          shown(name), shown(columns_[fault.other].name), columns_[fault.other].first_line);
    case ColumnProblem::kTooMany:
      return fmt::format(
          "The column {} is one too many: a stream has at most {} columns, so send changing keys "
          "as values.",
          shown(name), limits::kColumnsPerStreamMax);
  }
  return {};
}

std::string ColumnTable::registered_names() const {
  std::string names;
  for (std::size_t i = 0; i < std::min(columns_.size(), kNamesShownMax); ++i) {
    if (i > 0) names += ", ";
    names += shown(columns_[i].name);
  }
  if (columns_.size() > kNamesShownMax) {
    names += fmt::format(" and {} more", columns_.size() - kNamesShownMax);
  }
  return names;
}

}  // namespace strata::ndjson
