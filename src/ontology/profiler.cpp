#include "ontology/profiler.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "ontology/cells_sql.h"
#include "ontology/steps.h"

namespace strata::ontology {
namespace {

constexpr std::string_view kSidecarName = ".profile.json";

constexpr std::size_t kFailedMax = 5;
constexpr std::size_t kTopMax = 20;
constexpr std::size_t kMasksMax = 10;
/// Of a column with more, about so many are looked at: those that a hash picks.
constexpr std::uint64_t kMaskedDistinctMax = 200'000;
constexpr std::uint8_t kScaleMax = 9;
constexpr std::uint64_t kPrecisionMax = 38;
/// A type is a column's when so many of a hundred cells are of it.
constexpr std::uint64_t kAgreePercent = 98;
constexpr std::uint64_t kBooleanWordsMax = 2;

duck::Sql text(const duck::Sql& cell) {
  // Shown to people; the column itself may hold a megabyte in one cell.
  return duck::Sql("left(").append(cell).raw(", ").number(kShownCharactersMax).raw(")");
}

/// What the grouped pass found out.
struct Counts {
  ColumnProfile profile;  // all but type, examples, top and masks
  std::uint64_t filled = 0;
  std::array<std::uint64_t, kCellKinds> of_kind{};
  std::uint64_t words = 0;  // distinct ones
  std::uint64_t integer_digits_max = 0;
  std::uint64_t scale_max = 0;

  std::uint64_t of(const std::vector<CellKind>& kinds) const {
    std::uint64_t sum = 0;
    for (const CellKind kind : kinds) sum += of_kind.at(static_cast<std::size_t>(kind));
    return sum;
  }
  bool agree_on(Type type) const {
    return filled != 0 && of(kinds_of(type)) * 100 >= filled * kAgreePercent;
  }
};

/// The narrowest that holds every number of the column, so that none is lost for the sake of a
/// narrower type that most would fit; of a DOUBLE that is still to be asked.
ColumnType number_type(const Counts& counts) {
  const auto has = [&](CellKind kind) { return counts.of({kind}) != 0; };
  const std::uint64_t precision =
      std::max<std::uint64_t>(counts.integer_digits_max + counts.scale_max, 1);
  if (has(CellKind::kExponent) || counts.scale_max > kScaleMax || precision > kPrecisionMax) {
    return {.type = Type::kDouble};
  }
  if (!has(CellKind::kDecimal) && !has(CellKind::kHuge)) return {.type = Type::kBigint};
  return {.type = Type::kDecimal,
          .precision = static_cast<std::uint8_t>(precision),
          .scale = static_cast<std::uint8_t>(counts.scale_max)};
}

ColumnType decide_type(const Counts& counts) {
  for (const Type type : {Type::kTimestampTz, Type::kTimestamp, Type::kDate, Type::kMonth}) {
    if (counts.agree_on(type)) return {.type = type};
  }
  if (counts.agree_on(Type::kBoolean) && counts.words <= kBooleanWordsMax) {
    return {.type = Type::kBoolean};
  }
  // A code, though most of its cells look like numbers; among amounts it is a slip.
  if (counts.profile.leading_zeros && counts.of({CellKind::kDecimal}) * 2 < counts.filled) {
    return {};
  }
  if (counts.agree_on(Type::kDouble)) return number_type(counts);
  return {};
}

class ColumnProfiler {
 public:
  ColumnProfiler(duck::Workbench& bench, const FrozenTable& table, const std::string& column)
      : bench_(bench), table_(table), column_(column) {}

  Result<ColumnProfile> run() {
    STRATA_RETURN_IF_ERROR(group());
    STRATA_ASSIGN_OR_RETURN(Counts counts, count_cells());
    ColumnProfile profile = std::move(counts.profile);
    counts.profile.leading_zeros = profile.leading_zeros;
    profile.type = decide_type(counts);
    if (profile.type.type == Type::kDouble) {
      STRATA_ASSIGN_OR_RETURN(const bool exact, survive_double());
      if (!exact) profile.type = {};
    }
    const std::vector<CellKind> kinds = kinds_of(profile.type.type);
    profile.cast_ok = kinds.empty() ? counts.filled : counts.of(kinds);
    profile.cast_fail = counts.filled - profile.cast_ok;
    profile.verbatim = verbatim_;
    STRATA_ASSIGN_OR_RETURN(profile.casts_as_is, casts_as_is(profile));
    if (profile.cast_fail != 0) {
      STRATA_ASSIGN_OR_RETURN(profile.failed, failed_cells(kinds));
    }
    STRATA_ASSIGN_OR_RETURN(profile.top, top());
    STRATA_ASSIGN_OR_RETURN(profile.masks, masks(profile.distinct));
    return profile;
  }

 private:
  duck::Sql cell() const { return duck::Sql().ident(column_); }

  Result<void> group();
  Result<Counts> count_cells();
  Result<bool> survive_double();
  Result<bool> casts_as_is(const ColumnProfile& profile);
  Result<std::vector<FailedCell>> failed_cells(const std::vector<CellKind>& kinds);
  Result<std::vector<CountedText>> top();
  Result<std::vector<CountedText>> masks(std::uint64_t distinct);
  Result<std::vector<CountedText>> counted(const duck::Sql& select, std::size_t rows_max);

  duck::Workbench& bench_;
  const FrozenTable& table_;
  const std::string& column_;
  bool verbatim_ = false;
};

/// `cells`: each distinct normalised cell, how often it is there, and its kind. Grouped as they are
/// first, which the engine does on a file's dictionary without looking at each cell; a second time
/// only where normalising made cells of one another.
Result<void> ColumnProfiler::group() {
  const duck::Sql raw("cell");
  STRATA_RETURN_IF_ERROR(bench_.run(duck::Sql("CREATE OR REPLACE TEMP TABLE raw_cells AS SELECT ")
                                        .append(cell())
                                        .raw(" AS cell, count(*) AS k FROM ")
                                        .append(table_.relation())
                                        .raw(" GROUP BY 1"),
                                    kStepLimit));
  STRATA_ASSIGN_OR_RETURN(
      const std::uint64_t changed,
      count(bench_, duck::Sql("SELECT count(*) FROM raw_cells WHERE cell IS DISTINCT FROM ")
                        .append(normalised(raw))));
  verbatim_ = changed == 0;
  duck::Sql cells("CREATE OR REPLACE TEMP TABLE cells AS SELECT v, k, (");
  cells.append(kind_of(duck::Sql("v"))).raw(")::UTINYINT AS kind FROM (SELECT ");
  if (verbatim_) {
    cells.raw("cell AS v, k FROM raw_cells)");
  } else {
    cells.append(normalised(raw)).raw(" AS v, sum(k)::UBIGINT AS k FROM raw_cells GROUP BY 1)");
  }
  STRATA_RETURN_IF_ERROR(bench_.run(cells, kStepLimit));
  return bench_.run(duck::Sql("DROP TABLE raw_cells"), kStepLimit);
}

Result<Counts> ColumnProfiler::count_cells() {
  const duck::Sql v("v");
  const duck::Sql kind("kind");
  const duck::Sql is_number =
      is_one_of(kind, {CellKind::kInteger, CellKind::kHuge, CellKind::kDecimal});
  duck::Sql select(
      "SELECT coalesce(sum(k) FILTER (v IS NULL), 0), count(v), "
      "coalesce(max(k) FILTER (v IS NOT NULL), 0), coalesce(min(length(v)), 0), "
      "coalesce(max(length(v)), 0), count(DISTINCT lower(v)) FILTER (");
  select.append(is_one_of(kind, {CellKind::kWord}));
  select.raw("), coalesce(max(").append(integer_digits(v)).raw(") FILTER (").append(is_number);
  select.raw("), 0), coalesce(max(").append(scale(v)).raw(") FILTER (");
  select.append(is_one_of(kind, {CellKind::kDecimal})).raw("), 0)");
  for (std::uint8_t number = 0; number < kCellKinds; ++number) {
    select.raw(", coalesce(sum(k) FILTER (v IS NOT NULL AND ");
    select.append(is_one_of(kind, {static_cast<CellKind>(number)})).raw("), 0)");
  }
  STRATA_ASSIGN_OR_RETURN(CellReader row, only_row(bench_, select.raw(" FROM cells")));
  Counts counts;
  ColumnProfile& profile = counts.profile;
  profile.column = column_;
  profile.nulls = row.number();
  profile.distinct = row.number();
  profile.top_frequency = row.number();
  profile.length_min = row.number();
  profile.length_max = row.number();
  counts.words = row.number();
  counts.integer_digits_max = row.number();
  counts.scale_max = row.number();
  for (std::uint64_t& of_kind : counts.of_kind) counts.filled += of_kind = row.number();
  profile.leading_zeros = counts.of({CellKind::kZeros}) != 0;
  if (!row.whole() || profile.nulls + counts.filled != table_.rows) {
    return unexpected_answer("cells of column " + column_);
  }
  return counts;
}

/// Whether every number of the column does: to round one is worse than to have text.
Result<bool> ColumnProfiler::survive_double() {
  const duck::Sql kind("kind");
  duck::Sql select("SELECT count(*) FROM cells WHERE ");
  select.append(is_one_of(kind, kinds_of(Type::kDouble))).raw(" AND NOT ");
  select.append(survives_double(duck::Sql("v"), kind));
  STRATA_ASSIGN_OR_RETURN(const std::uint64_t rounded, count(bench_, select));
  return rounded == 0;
}

/// What was cast is not looked at here: each cell's kind is a promise of the cast.
Result<bool> ColumnProfiler::casts_as_is(const ColumnProfile& profile) {
  if (profile.cast_fail != 0) return false;
  if (!has_spellings(profile.type.type)) return true;
  const duck::Sql v("v");
  STRATA_ASSIGN_OR_RETURN(const std::uint64_t otherwise,
                          count(bench_, duck::Sql("SELECT count(*) FROM cells WHERE v <> ")
                                            .append(as_iso(v, profile.type.type))));
  return otherwise == 0;
}

Result<std::vector<FailedCell>> ColumnProfiler::failed_cells(const std::vector<CellKind>& kinds) {
  const duck::Sql v("f.v");
  duck::Sql select("SELECT ");
  select.append(text(v)).raw(
      ", min(_batch_id) FROM (SELECT v FROM cells WHERE v IS NOT NULL AND NOT ");
  select.append(is_one_of(duck::Sql("kind"), kinds));
  select.raw(" ORDER BY v LIMIT ").number(kFailedMax).raw(") f JOIN (SELECT ");
  select.append(normalised(cell())).raw(" AS v, _batch_id FROM ").append(table_.relation());
  select.raw(") s ON s.v = f.v GROUP BY f.v ORDER BY f.v");
  STRATA_ASSIGN_OR_RETURN(auto rows, bench_.rows(select, kFailedMax, kStepLimit));
  std::vector<FailedCell> failed;
  for (duck::TextRow& row : rows) {
    CellReader cells(std::move(row));
    FailedCell& one = failed.emplace_back();
    one.text = cells.text();
    one.batch = cells.text();
    if (!cells.whole()) return unexpected_answer("failed cells of column " + column_);
  }
  return failed;
}

Result<std::vector<CountedText>> ColumnProfiler::counted(const duck::Sql& select,
                                                         std::size_t rows_max) {
  STRATA_ASSIGN_OR_RETURN(auto rows, bench_.rows(select, rows_max, kStepLimit));
  std::vector<CountedText> counted;
  for (duck::TextRow& row : rows) {
    CellReader cells(std::move(row));
    CountedText& one = counted.emplace_back();
    one.text = cells.text();
    one.count = cells.number();
    if (!cells.whole()) return unexpected_answer(select.str());
  }
  return counted;
}

Result<std::vector<CountedText>> ColumnProfiler::top() {
  duck::Sql select("SELECT ");
  select.append(text(duck::Sql("v")))
      .raw(", k FROM cells WHERE v IS NOT NULL ORDER BY k DESC, v LIMIT ")
      .number(kTopMax);
  return counted(select, kTopMax);
}

Result<std::vector<CountedText>> ColumnProfiler::masks(std::uint64_t distinct) {
  duck::Sql shown = text(duck::Sql("v"));
  duck::Sql select("SELECT regexp_replace(regexp_replace(regexp_replace(");
  select.append(shown).raw(
      ", '[a-z]+', 'a', 'g'), '[A-Z]+', 'A', 'g'), '[0-9]+', '9', 'g') AS mask, count(*) AS k "
      "FROM cells WHERE v IS NOT NULL");
  if (const std::uint64_t one_of = (distinct + kMaskedDistinctMax - 1) / kMaskedDistinctMax;
      one_of > 1) {
    select.raw(" AND ").append(stable_hash(duck::Sql("v"))).raw(" % ").number(one_of).raw(" = 0");
  }
  select.raw(" GROUP BY 1 ORDER BY k DESC, mask LIMIT ").number(kMasksMax);
  return counted(select, kMasksMax);
}

}  // namespace

Result<Profile> profile_table(duck::Workbench& bench, const FrozenTable& table) {
  Profile profile{.table = table.id.str(), .rows = table.rows, .columns = {}};
  for (const std::string& column : table.columns) {
    STRATA_ASSIGN_OR_RETURN(ColumnProfile counted, ColumnProfiler(bench, table, column).run());
    profile.columns.push_back(std::move(counted));
  }
  return profile;
}

Result<void> store_profile(kb::TableFiles& files, const TableId& table, const Profile& profile) {
  return files.publish_sidecar({table.sidecar_folder(), kSidecarName, to_json(profile) + '\n'});
}

}  // namespace strata::ontology
