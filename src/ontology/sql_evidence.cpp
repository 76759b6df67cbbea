#include "ontology/sql_evidence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "ontology/cells_sql.h"
#include "ontology/steps.h"

namespace strata::ontology {
namespace {

/// Beyond it nobody asks how likely luck is, nor what the exact figure would be: noisy columns of
/// few rows fail that often and mean it.
constexpr double kPlausibleG3 = 0.3;
/// Sizes that differ: n of them are in n * n / 2 rows at least.
constexpr std::size_t kSizesMax = 10'000;

using Histogram = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // a size, how often

/// log10 of the sum over cells of share^size, as the largest share's power times a sum that is at
/// least one: the powers themselves would be zero.
double log10_all_equal(std::uint64_t size, const Histogram& cells, double rows) {
  const auto largest = static_cast<double>(cells.back().first);
  double sum = 0;
  for (const auto& [frequency, times] : cells) {
    sum += static_cast<double>(times) *
           std::pow(static_cast<double>(frequency) / largest, static_cast<double>(size));
  }
  return static_cast<double>(size) * std::log10(largest / rows) + std::log10(sum);
}

/// Of groups of which each has one cell only, where cells are dealt out by their frequencies.
double log10_by_luck(const Histogram& groups, const Histogram& cells) {
  double rows = 0;
  for (const auto& [frequency, times] : cells) {
    rows += static_cast<double>(frequency) * static_cast<double>(times);
  }
  double luck = 0;
  for (const auto& [size, times] : groups) {
    if (size >= 2) luck += static_cast<double>(times) * log10_all_equal(size, cells, rows);
  }
  return luck;
}

}  // namespace

SqlEvidence::SqlEvidence(duck::Workbench& bench, FrozenTable table, const Profile& profile,
                         ScreeningLimits limits)
    : bench_(bench), table_(std::move(table)), limits_(limits) {
  for (const ColumnProfile& column : profile.columns) {
    columns_.push_back({.name = column.column,
                        .nulls = column.nulls,
                        .distinct = column.distinct,
                        .verbatim = column.verbatim});
  }
}

Result<SqlEvidence::Index> SqlEvidence::find(const std::string& name) const {
  const auto found = std::ranges::find(columns_, name, &Column::name);
  if (found == columns_.end()) return unexpected_answer("no column " + name);
  return static_cast<Index>(found - columns_.begin());
}

duck::Sql SqlEvidence::cell(Index column) const { return duck::Sql().ident(columns_[column].name); }

duck::Sql SqlEvidence::clean(Index column, const duck::Sql& cell) const {
  return columns_[column].verbatim ? cell : normalised(cell);
}

/// `pairs`: a, b and how many rows have them. Grouped as the cells are first, like a profile; a
/// second time where cleaning may have made cells of one another.
Result<void> SqlEvidence::make_pairs(Pair pair) {
  if (made_ == pair) return {};
  made_.reset();
  duck::Sql grouped("SELECT ");
  grouped.append(cell(pair.first)).raw(" AS a, ").append(cell(pair.second));
  grouped.raw(" AS b, count(*) AS k FROM ").append(table_.relation()).raw(" GROUP BY ALL");
  duck::Sql sql("CREATE OR REPLACE TEMP TABLE pairs AS ");
  if (columns_[pair.first].verbatim && columns_[pair.second].verbatim) {
    sql.append(grouped);
  } else {
    sql.raw("SELECT ").append(clean(pair.first, duck::Sql("a"))).raw(" AS a, ");
    sql.append(clean(pair.second, duck::Sql("b"))).raw(" AS b, sum(k)::UBIGINT AS k FROM (");
    sql.append(grouped).raw(") GROUP BY ALL");
  }
  STRATA_RETURN_IF_ERROR(bench_.run(sql, kStepLimit));
  made_ = pair;
  return {};
}

/// `counted` has, for each cell `f` and each that is beside it, how often (`k`). Nothing: no rows.
Result<std::optional<double>> SqlEvidence::g3_of(const duck::Sql& counted) {
  duck::Sql select("SELECT coalesce(sum(n), 0), coalesce(sum(kept), 0) FROM (SELECT sum(k) AS n, ");
  select.raw("max(k) AS kept FROM (").append(counted).raw(") GROUP BY f)");
  STRATA_ASSIGN_OR_RETURN(CellReader row, only_row(bench_, select));
  const std::uint64_t rows = row.number();
  const std::uint64_t kept = row.number();
  if (!row.whole() || kept > rows) return unexpected_answer(select.str());
  if (rows == 0) return std::nullopt;
  return static_cast<double>(rows - kept) / static_cast<double>(rows);
}

Result<SqlEvidence::Counted> SqlEvidence::counted(Pair pair) {
  if (const auto known = counted_.find(pair); known != counted_.end()) return known->second;
  STRATA_RETURN_IF_ERROR(make_pairs(pair));
  STRATA_ASSIGN_OR_RETURN(const auto forth,
                          g3_of(duck::Sql("SELECT a AS f, k FROM pairs WHERE a IS NOT NULL")));
  STRATA_ASSIGN_OR_RETURN(const auto back,
                          g3_of(duck::Sql("SELECT b AS f, k FROM pairs WHERE b IS NOT NULL")));
  STRATA_ASSIGN_OR_RETURN(
      const std::uint64_t distinct,
      count(bench_, duck::Sql("SELECT count(*) FROM pairs WHERE a IS NOT NULL AND b IS NOT NULL")));
  const Counted figures{forth.value_or(1), back.value_or(1), distinct};
  counted_.emplace(pair, figures);
  return figures;
}

/// Looks at some entities of `from` beside every column at once.
Result<void> SqlEvidence::screen(Index from) {
  if (screened_.contains(from)) return {};
  const std::uint64_t one_of = table_.rows / limits_.rows_screened + 1;
  duck::Sql sql("CREATE OR REPLACE TEMP TABLE screened AS SELECT ");
  for (Index column = 0; column < columns_.size(); ++column) {
    sql.append(column == 0 ? duck::Sql() : duck::Sql(", "));
    sql.append(clean(column, cell(column))).raw(" AS ").append(cell(column));
  }
  const duck::Sql key("key");
  sql.raw(" FROM ").append(table_.relation()).raw(" WHERE ").append(cell(from));
  sql.raw(" IN (SELECT key FROM (SELECT DISTINCT ").append(cell(from)).raw(" AS key FROM ");
  sql.append(table_.relation()).raw(") WHERE ").append(stable_hash(clean(from, key)));
  sql.raw(" % ").number(one_of).raw(" = 0)");
  STRATA_RETURN_IF_ERROR(bench_.run(sql, kStepLimit));
  std::map<Index, double> figures;
  for (Index to = 0; to < columns_.size(); ++to) {
    duck::Sql counted("SELECT ");
    counted.append(cell(from)).raw(" AS f, ").append(cell(to));
    counted.raw(" AS t, count(*) AS k FROM screened GROUP BY ALL");
    STRATA_ASSIGN_OR_RETURN(const auto figure, g3_of(counted));
    if (figure) figures.emplace(to, *figure);
  }
  screened_.emplace(from, std::move(figures));
  return bench_.run(duck::Sql("DROP TABLE screened"), kStepLimit);
}

Result<double> SqlEvidence::g3(Pair pair) {
  const auto [from, to] = pair;
  if (table_.rows > limits_.rows_exact_max && columns_[from].distinct >= limits_.distinct_min) {
    STRATA_RETURN_IF_ERROR(screen(from));
    const auto figure = screened_[from].find(to);
    if (figure != screened_[from].end() && figure->second > kPlausibleG3) return figure->second;
  }
  STRATA_ASSIGN_OR_RETURN(const Counted figures, counted(std::minmax(from, to)));
  return from < to ? figures.g3 : figures.g3_back;
}

Result<Histogram> SqlEvidence::histogram(const duck::Sql& sizes) {
  duck::Sql select("SELECT n, count(*) FROM (");
  select.append(sizes).raw(") GROUP BY n ORDER BY n");
  STRATA_ASSIGN_OR_RETURN(auto rows, bench_.rows(select, kSizesMax, kStepLimit));
  Histogram histogram;
  for (duck::TextRow& row : rows) {
    CellReader cells(std::move(row));
    const std::uint64_t size = cells.number();
    histogram.emplace_back(size, cells.number());
    if (!cells.whole()) return unexpected_answer(select.str());
  }
  return histogram;
}

/// The rows luck is reckoned on: cells `f` of from and `t` of to, and how many there are (`k`).
Result<void> SqlEvidence::make_grains(Pair pair, std::optional<Index> entity) {
  duck::Sql sql("CREATE OR REPLACE TEMP TABLE grains AS SELECT f, t, sum(k)::UBIGINT AS k FROM (");
  if (entity) {
    sql.raw("SELECT DISTINCT ").append(clean(*entity, duck::Sql("e"))).raw(" AS e, ");
    sql.append(clean(pair.first, duck::Sql("f"))).raw(" AS f, ");
    sql.append(clean(pair.second, duck::Sql("t")));
    sql.raw(" AS t, 1 AS k FROM (SELECT DISTINCT ").append(cell(*entity)).raw(" AS e, ");
    sql.append(cell(pair.first)).raw(" AS f, ").append(cell(pair.second)).raw(" AS t FROM ");
    sql.append(table_.relation()).raw(")) WHERE e IS NOT NULL AND f IS NOT NULL");
  } else {
    STRATA_RETURN_IF_ERROR(make_pairs(std::minmax(pair.first, pair.second)));
    sql.raw(pair.first < pair.second ? duck::Sql::Text("SELECT a AS f, b AS t, k FROM pairs)")
                                     : duck::Sql::Text("SELECT b AS f, a AS t, k FROM pairs)"));
    sql.raw(" WHERE f IS NOT NULL");
  }
  return bench_.run(sql.raw(" GROUP BY ALL"), kStepLimit);
}

Result<double> SqlEvidence::log10_luck(Pair pair, std::optional<Index> grain) {
  STRATA_RETURN_IF_ERROR(make_grains(pair, grain));
  STRATA_ASSIGN_OR_RETURN(const Histogram groups,
                          histogram(duck::Sql("SELECT sum(k) AS n FROM grains GROUP BY f")));
  STRATA_ASSIGN_OR_RETURN(const Histogram cells,
                          histogram(duck::Sql("SELECT sum(k) AS n FROM grains GROUP BY t")));
  return log10_by_luck(groups, cells);
}

Result<Dependency> SqlEvidence::dependency(const std::string& from, const std::string& to,
                                           const std::string& grain) {
  STRATA_ASSIGN_OR_RETURN(const Index from_index, find(from));
  STRATA_ASSIGN_OR_RETURN(const Index to_index, find(to));
  std::optional<Index> entity;
  if (!grain.empty()) {
    STRATA_ASSIGN_OR_RETURN(entity, find(grain));
  }
  const Pair pair{from_index, to_index};
  if (from_index == to_index) return unexpected_answer(from + " on itself");
  const std::pair key(pair, entity);
  if (const auto known = dependencies_.find(key); known != dependencies_.end()) {
    return known->second;
  }
  Dependency found;
  STRATA_ASSIGN_OR_RETURN(found.g3, g3(pair));
  if (found.g3 <= kPlausibleG3) {
    STRATA_ASSIGN_OR_RETURN(found.log10_luck, log10_luck(pair, entity));
  }
  dependencies_.emplace(key, found);
  return found;
}

Result<std::uint64_t> SqlEvidence::distinct_pairs(const std::string& one,
                                                  const std::string& other) {
  STRATA_ASSIGN_OR_RETURN(const Index one_index, find(one));
  STRATA_ASSIGN_OR_RETURN(const Index other_index, find(other));
  if (one_index == other_index) return columns_[one_index].distinct;
  STRATA_ASSIGN_OR_RETURN(const Counted figures, counted(std::minmax(one_index, other_index)));
  return figures.distinct_pairs;
}

Result<double> SqlEvidence::containment(const std::string& part, const std::string& whole) {
  STRATA_ASSIGN_OR_RETURN(const Index part_index, find(part));
  STRATA_ASSIGN_OR_RETURN(const Index whole_index, find(whole));
  const Pair pair{part_index, whole_index};
  if (const auto known = containments_.find(pair); known != containments_.end()) {
    return known->second;
  }
  const std::uint64_t cells = columns_[part_index].distinct;
  const auto distinct = [&](Index column) {
    return duck::Sql("SELECT DISTINCT ")
        .append(clean(column, duck::Sql("c")))
        .raw(" AS v FROM (SELECT DISTINCT ")
        .append(cell(column))
        .raw(" AS c FROM ")
        .append(table_.relation())
        .raw(")");
  };
  duck::Sql select("SELECT count(*) FROM (");
  select.append(distinct(part_index)).raw(") WHERE v IS NOT NULL AND v IN (");
  select.append(distinct(whole_index)).raw(")");
  STRATA_ASSIGN_OR_RETURN(const std::uint64_t shared, count(bench_, select));
  const double share = cells == 0 ? 0 : static_cast<double>(shared) / static_cast<double>(cells);
  containments_.emplace(pair, share);
  return share;
}

}  // namespace strata::ontology
