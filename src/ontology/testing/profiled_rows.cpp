#include "ontology/testing/profiled_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "ontology/testing/cell_types.h"

namespace strata::ontology {
namespace {

using Cell = ProfiledRows::Cell;

Cell normalised(const Cell& cell) {
  if (!cell) return std::nullopt;
  const auto begin = cell->find_first_not_of(" \t\n\r");
  if (begin == std::string::npos) return std::nullopt;
  std::string trimmed = cell->substr(begin, cell->find_last_not_of(" \t\n\r") - begin + 1);
  if (is_null_like(trimmed)) return std::nullopt;
  return trimmed;
}

std::uint64_t characters(const std::string& text) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::vector<CountedText> most_frequent(const Counts& counts, std::size_t most) {
  std::vector<CountedText> counted;
  for (const auto& [text, count] : counts) counted.push_back({text, count});
  std::ranges::stable_sort(counted, std::ranges::greater(), &CountedText::count);
  if (counted.size() > most) counted.resize(most);
  return counted;
}

/// log10 of the sum of p^repeats over all values.
double luck_of_group(const std::map<Cell, std::uint64_t>& values, std::uint64_t rows,
                     std::uint64_t repeats) {
  double largest = -HUGE_VAL;
  std::vector<double> powers;
  for (const auto& [value, count] : values) {
    const double p = static_cast<double>(count) / static_cast<double>(rows);
    powers.push_back(static_cast<double>(repeats) * std::log10(p));
    largest = std::max(largest, powers.back());
  }
  double sum = 0;
  for (const double power : powers) sum += std::pow(10, power - largest);
  return largest + std::log10(sum);
}

using Pairs = std::vector<std::pair<Cell, Cell>>;

double luck_of(const Pairs& rows) {
  std::map<Cell, std::uint64_t> values;
  std::map<Cell, std::uint64_t> groups;
  for (const auto& [from, to] : rows) {
    ++values[to];
    ++groups[from];
  }
  double luck = 0;
  for (const auto& [group, repeats] : groups) {
    if (repeats >= 2) luck += luck_of_group(values, rows.size(), repeats);
  }
  return luck;
}

double g3_of(const Pairs& rows) {
  std::map<Cell, std::map<Cell, std::uint64_t>> groups;
  for (const auto& [from, to] : rows) ++groups[from][to];
  std::uint64_t kept = 0;
  for (const auto& [from, values] : groups) {
    std::uint64_t most = 0;
    for (const auto& [to, count] : values) most = std::max(most, count);
    kept += most;
  }
  if (rows.empty()) return 0;
  return 1 - static_cast<double>(kept) / static_cast<double>(rows.size());
}

}  // namespace

ProfiledRows::ProfiledRows(std::vector<std::string> columns, std::vector<Row> rows)
    : columns_(std::move(columns)), rows_(std::move(rows)) {
  for (Row& row : rows_) {
    STRATA_CHECK(row.size() == columns_.size());
    for (Cell& cell : row) cell = normalised(cell);
  }
}

std::size_t ProfiledRows::index(const std::string& column) const {
  const auto found = std::ranges::find(columns_, column);
  STRATA_CHECK(found != columns_.end());
  return static_cast<std::size_t>(found - columns_.begin());
}

ColumnProfile ProfiledRows::profile_of(std::size_t column) const {
  ColumnProfile profile{.column = columns_[column]};
  Counts counts;
  for (const Row& row : rows_) {
    if (row[column]) {
      ++counts[*row[column]];
    } else {
      ++profile.nulls;
    }
  }
  profile.distinct = counts.size();
  profile.type = type_of(counts);
  Counts masks;
  for (const auto& [cell, count] : counts) {
    const std::uint64_t length = characters(cell);
    profile.length_min = profile.length_max == 0 ? length : std::min(profile.length_min, length);
    profile.length_max = std::max(profile.length_max, length);
    profile.top_frequency = std::max(profile.top_frequency, count);
    profile.leading_zeros |= has_leading_zeros(cell);
    ++masks[mask_of(cell)];
    const bool fits = casts(cell, profile.type.type);
    (fits ? profile.cast_ok : profile.cast_fail) += count;
    if (!fits && profile.failed.size() < 5) profile.failed.push_back({cell, ""});
  }
  profile.top = most_frequent(counts, 20);
  profile.masks = most_frequent(masks, 10);
  return profile;
}

Profile ProfiledRows::profile() const {
  Profile profile{.table = "test/stream:rows", .rows = rows_.size()};
  for (std::size_t i = 0; i < columns_.size(); ++i) profile.columns.push_back(profile_of(i));
  return profile;
}

Result<Dependency> ProfiledRows::dependency(const std::string& from, const std::string& to,
                                            const std::string& grain) {
  const std::size_t from_index = index(from);
  const std::size_t to_index = index(to);
  Pairs all;
  std::set<std::tuple<Cell, Cell, Cell>> once;
  for (const Row& row : rows_) {
    if (!row[from_index]) continue;
    all.emplace_back(row[from_index], row[to_index]);
    if (!grain.empty()) once.emplace(row[index(grain)], row[from_index], row[to_index]);
  }
  Pairs counted;
  for (const auto& [entity, one, other] : once) counted.emplace_back(one, other);
  return Dependency{.g3 = g3_of(all), .log10_luck = luck_of(grain.empty() ? all : counted)};
}

Result<std::uint64_t> ProfiledRows::distinct_pairs(const std::string& one,
                                                   const std::string& other) {
  std::set<std::pair<Cell, Cell>> pairs;
  const std::size_t first = index(one);
  const std::size_t second = index(other);
  for (const Row& row : rows_) {
    if (row[first] && row[second]) pairs.emplace(row[first], row[second]);
  }
  return pairs.size();
}

Result<double> ProfiledRows::containment(const std::string& part, const std::string& whole) {
  std::set<std::string> parts;
  std::set<std::string> wholes;
  for (const Row& row : rows_) {
    if (row[index(part)]) parts.insert(*row[index(part)]);
    if (row[index(whole)]) wholes.insert(*row[index(whole)]);
  }
  if (parts.empty()) return 0.0;
  const auto shared = std::ranges::count_if(
      parts, [&](const std::string& value) { return wholes.contains(value); });
  return static_cast<double>(shared) / static_cast<double>(parts.size());
}

}  // namespace strata::ontology
