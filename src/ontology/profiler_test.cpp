#include "ontology/profiler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ontology/cells_sql.h"
#include "ontology/testing/table_world.h"

namespace strata::ontology {
namespace {

class ProfilerTest : public TableWorld {
 protected:
  Profile profile(const FrozenTable& table) {
    auto counted = profile_table(bench(), table);
    EXPECT_TRUE(counted) << counted.error().message << counted.error().detail;
    return counted.value_or(Profile());
  }
};

std::string spelled(const ColumnType& type) {
  std::string text(type_name(type.type));
  if (type.type == Type::kDecimal) {
    text += '(' + std::to_string(type.precision) + ',' + std::to_string(type.scale) + ')';
  }
  return text;
}

/// Cells, each so often, and what their column is.
struct Case {
  std::vector<std::pair<std::string, int>> cells;
  std::string type;
  std::uint64_t cast_fail = 0;
  bool leading_zeros = false;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{{"1", 3}, {"-7", 1}, {"+5", 1}, {" 12 ", 1}, {"-0", 1}}, "BIGINT"},
      {{{"9223372036854775807", 1}, {"-9223372036854775808", 1}}, "BIGINT"},
      {{{"9223372036854775808", 1}, {"1", 1}}, "DECIMAL(19,0)"},
      {{{"12345678901234567890123456789012345678", 1}}, "DECIMAL(38,0)"},
      {{{"123456789012345678901234567890123456789", 1}}, "VARCHAR"},
      {{{"79250.00", 1}, {"100", 1}, {"-.5", 1}, {"7.", 1}}, "DECIMAL(7,2)"},
      {{{".5", 1}}, "DECIMAL(1,1)"},
      {{{"0.123456789", 1}}, "DECIMAL(10,9)"},
      {{{"0.1234567890", 1}}, "DOUBLE"},
      {{{"1e5", 1}, {"2.5", 1}}, "DOUBLE"},
      // No exponent that could make zero or infinity of a cell.
      {{{"9e199", 1}, {"9e-199", 1}, {"1e+000199", 1}}, "DOUBLE"},
      {{{"1e200", 1}}, "VARCHAR"},
      {{{"1e-400", 1}}, "VARCHAR"},
      // A type that most would fit never costs the others their value.
      {{{"1", 99}, {"1.5", 1}}, "DECIMAL(2,1)"},
      {{{"0.50", 99}, {"5e-1", 1}}, "DOUBLE"},
      {{{"12345678901234567890123456789012345678", 1}, {"0.5", 1}}, "VARCHAR"},
      // Nor does a DOUBLE round one: 15 digits survive, more where they came from a DOUBLE.
      {{{"-123456789012345000", 1}, {"0.000123456789012345", 1}, {"1E5", 1}}, "DOUBLE"},
      {{{"59.91386880000001", 1}, {"+5.991386880000001E25", 1}, {".500000000000000000", 1}},
       "DOUBLE"},
      {{{"59.91386880000001", 99}, {"59.913868800000012", 1}}, "VARCHAR"},
      {{{"59.91386880000001", 99}, {"unknown", 1}}, "DOUBLE", 1},
      {{{"1000000000000000001", 60}, {"1E5", 1}}, "VARCHAR"},
      // Nor is a whole number a DOUBLE that only happens to be one.
      {{{"9007199254740994", 1}, {"1e5", 1}}, "VARCHAR"},
      {{{"10000000000000000000000000000000000000", 1}, {"0.5", 1}}, "DOUBLE"},
      // What TRY_CAST alone would take.
      {{{"inf", 1}, {"infinity", 1}, {"-inf", 1}}, "VARCHAR"},
      {{{"0x1F", 1}}, "VARCHAR"},
      {{{"1_000", 1}}, "VARCHAR"},
      {{{"1,000", 1}}, "VARCHAR"},
      {{{"1 000", 1}}, "VARCHAR"},
      // Codes.
      {{{"007", 1}, {"8", 99}}, "VARCHAR", 0, true},
      {{{"007", 1}, {"8", 50}, {"8.5", 49}}, "VARCHAR", 0, true},
      // Slips among amounts, not codes.
      {{{"007", 1}, {"8", 49}, {"8.5", 50}}, "DECIMAL(2,1)", 1, true},
      {{{"01.50", 1}, {"00.5e3", 1}, {"8", 98}}, "BIGINT", 2},
      {{{"0", 1}, {"0.5", 1}}, "DECIMAL(2,1)"},
      {{{"2026-06-30", 1}, {"2026-6-1", 1}}, "DATE"},
      {{{"2026-02-30", 1}}, "VARCHAR"},
      {{{"2026-06", 1}, {"1999-12", 1}}, "MONTH"},
      // Other spellings that can be read one way only; days and months between slashes cannot.
      {{{"31.12.2026", 1},
        {"1.6.2026", 1},
        {"2026/06/30", 1},
        {"30 Jun 2026", 1},
        {"Jun 30 2026", 1},
        {"Jun 3, 2026", 1},
        {"2026-06-30", 1}},
       "DATE"},
      {{{"06/2026", 1}, {"Jun 2026", 1}, {"2026-06", 1}}, "MONTH"},
      {{{"31.12.2026 10:00", 1}, {"2026/06/30T10:00:00.5", 1}}, "TIMESTAMP"},
      {{{"31.06.2026", 1}}, "VARCHAR"},
      {{{"12.31.2026", 1}}, "VARCHAR"},
      {{{"31.12.26", 1}}, "VARCHAR"},
      {{{"13/2026", 1}}, "VARCHAR"},
      {{{"30 Foo 2026", 1}}, "VARCHAR"},
      {{{"Foo 2026", 1}}, "VARCHAR"},
      {{{"Jun 31 2026", 1}}, "VARCHAR"},
      {{{"Jun 30 26", 1}}, "VARCHAR"},
      {{{"06/30/2026", 1}, {"30/06/2026", 1}}, "VARCHAR"},
      {{{"31.12.2026 10:00:00Z", 1}}, "VARCHAR"},
      {{{"2026-13", 1}}, "VARCHAR"},
      {{{"2026-06-30 10:00:00", 1}, {"2026-06-30T10:00", 1}, {"2026-06-30 10:00:00.123456789", 1}},
       "TIMESTAMP"},
      {{{"2026-06-30T10:00:00Z", 1},
        {"2026-06-30 10:00:00+02", 1},
        {"2026-06-30 10:00:00.5-0930", 1},
        {"2026-06-30 10:00:00+05:45", 1}},
       "TIMESTAMPTZ"},
      // An offset is neither made up nor dropped.
      {{{"2026-06-30T10:00:00Z", 1}, {"2026-06-30T10:00:00", 1}}, "VARCHAR"},
      {{{"2026-06-30T10:00:00", 99}, {"2026-06-30T10:00:00Z", 1}}, "TIMESTAMP", 1},
      {{{"2026-06-30T10:00:00+25:00", 1}}, "VARCHAR"},
      {{{"2026-06-30 and so on", 1}}, "VARCHAR"},
      {{{"yes", 3}, {"No", 2}, {"YES", 1}}, "BOOLEAN"},
      {{{"t", 1}, {"f", 1}}, "BOOLEAN"},
      {{{"yes", 1}, {"no", 1}, {"true", 1}}, "VARCHAR"},
      {{{"0", 1}, {"1", 1}}, "BIGINT"},
      // 98 of 100.
      {{{"5", 98}, {"x", 1}, {"y", 1}, {"n/a", 1000}}, "BIGINT", 2},
      {{{"5", 97}, {"x", 3}}, "VARCHAR"},
      {{{"", 1},
        {"NULL", 1},
        {"None", 1},
        {"N/A", 1},
        {"na", 1},
        {"NaN", 1},
        {"-", 1},
        {"--", 1},
        {"nil", 1},
        {" \t\n", 1}},
       "VARCHAR"},
      {{{"Ann", 1}, {"é", 1}}, "VARCHAR"},
  };
  return all;
}

TEST_F(ProfilerTest, ACellsLookDecidesItsColumnsType) {
  std::vector<std::string> columns;
  std::size_t length = 0;
  for (const Case& one : cases()) {
    columns.push_back("c" + std::to_string(columns.size()));
    std::size_t cells = 0;
    for (const auto& [text, times] : one.cells) cells += static_cast<std::size_t>(times);
    length = std::max(length, cells);
  }
  std::vector<BatchRow> rows(length, {"b1", std::vector<Cell>(columns.size())});
  for (std::size_t column = 0; column < columns.size(); ++column) {
    std::size_t row = 0;
    for (const auto& [text, times] : cases()[column].cells) {
      for (int time = 0; time < times; ++time) rows[row++].cells[column] = text;
    }
  }
  const Profile counted = profile(frozen(columns, rows));
  ASSERT_EQ(counted.columns.size(), cases().size());
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const Case& one = cases()[column];
    const ColumnProfile& found = counted.columns[column];
    const std::string& about = one.cells.front().first;
    EXPECT_EQ(spelled(found.type), one.type) << about;
    EXPECT_EQ(found.cast_fail, one.cast_fail) << about;
    EXPECT_EQ(found.nulls + found.cast_ok + found.cast_fail, counted.rows) << about;
    EXPECT_EQ(found.leading_zeros, one.leading_zeros) << about;
  }
}

TEST_F(ProfilerTest, EverythingIsCountedOverNormalisedCells) {
  const FrozenTable table = frozen({"grade", "none"}, {{"b2", {"G10", std::nullopt}},
                                                       {"b2", {" G10\t", "null"}},
                                                       {"b1", {"Ünü-7", "-"}},
                                                       {"b1", {"N/A", std::nullopt}},
                                                       {"b1", {std::nullopt, " "}}});
  const Profile expected{.table = "demo/stream:pay",
                         .rows = 5,
                         .columns = {{.column = "grade",
                                      .nulls = 2,
                                      .distinct = 2,
                                      .top_frequency = 2,
                                      .length_min = 3,
                                      .length_max = 5,
                                      .cast_ok = 3,
                                      .top = {{"G10", 2}, {"Ünü-7", 1}},
                                      .masks = {{"A9", 1}, {"Üaü-9", 1}},
                                      .casts_as_is = true},
                                     {.column = "none", .nulls = 5, .casts_as_is = true}}};
  const Profile found = profile(table);
  EXPECT_EQ(found, expected) << to_json(found);
}

TEST_F(ProfilerTest, TheFirstCellsThatFailAreShownWithABatch) {
  std::vector<BatchRow> rows(400, {"b9", {"1"}});
  for (const char* cell : {"f", "e", "d", "c", "b", "a"}) rows.push_back({"b2", {cell}});
  rows.push_back({"b10", {" a"}});
  rows.push_back({"b2", {std::string(300, 'A')}});
  const ColumnProfile found = profile(frozen({"n"}, rows)).columns.at(0);
  EXPECT_EQ(spelled(found.type), "BIGINT");
  EXPECT_EQ(found.cast_fail, 8U);
  const std::vector<FailedCell> expected = {
      {std::string(200, 'A'), "b2"}, {"a", "b10"}, {"b", "b2"}, {"c", "b2"}, {"d", "b2"}};
  EXPECT_EQ(found.failed, expected);
  EXPECT_EQ(found.length_max, 300U);
}

TEST_F(ProfilerTest, TheMostFrequentCellsComeFirstThenByText) {
  std::vector<BatchRow> rows;
  for (int number = 0; number < 30; ++number) {
    rows.push_back({"b1", {std::string(1, static_cast<char>('a' + number % 26))}});
  }
  const ColumnProfile found = profile(frozen({"c"}, rows)).columns.at(0);
  ASSERT_EQ(found.top.size(), 20U);
  EXPECT_EQ(found.top[0], (CountedText{"a", 2}));
  EXPECT_EQ(found.top[3], (CountedText{"d", 2}));
  EXPECT_EQ(found.top[4], (CountedText{"e", 1}));
  EXPECT_EQ(found.top[19], (CountedText{"t", 1}));
  EXPECT_EQ(found.masks, (std::vector<CountedText>{{"a", 26}}));
}

TEST_F(ProfilerTest, TheOrderOfBatchesChangesNothing) {
  std::vector<BatchRow> rows;
  for (int number = 0; number < 200; ++number) {
    rows.push_back(
        {"b" + std::to_string(number % 7),
         {"E" + std::to_string(number % 20), std::to_string(number * number % 61),
          number == 150 || number == 33 ? "x" : "2026-0" + std::to_string(number % 9 + 1)}});
  }
  const std::vector<std::string> columns = {"employee", "amount", "month"};
  const Profile one = profile(frozen(columns, rows));
  EXPECT_EQ(spelled(one.columns.at(2).type), "MONTH");
  EXPECT_EQ(one.columns.at(2).failed, (std::vector<FailedCell>{{"x", "b3"}}));
  std::ranges::reverse(rows);
  EXPECT_EQ(profile(frozen(columns, rows)), one);
}

TEST_F(ProfilerTest, OfVeryManyDistinctCellsSomeAreMaskedAlwaysTheSame) {
  write_batch("b1", duck::Sql("SELECT CASE WHEN i % 4 = 0 THEN 'A' ELSE 'ab-' END || i AS c, "
                              "'b1' AS _batch_id FROM range(250000) t(i)"));
  const ColumnProfile found = profile(freeze_written({"c"})).columns.at(0);
  EXPECT_EQ(found.distinct, 250'000U);
  // Half of them: those whose MD5 is even in its lower 64 bits.
  const auto kept = rows(duck::Sql("SELECT left(c, 1), count(*) FROM ")
                             .append(relation())
                             .raw(" WHERE md5_number_lower(c) % 2 = 0 GROUP BY 1 ORDER BY 1"));
  ASSERT_EQ(found.masks.size(), 2U);
  EXPECT_EQ(found.masks[0].text, "a-9");
  EXPECT_EQ(found.masks[1].text, "A9");
  EXPECT_EQ(std::to_string(found.masks[0].count), kept.at(1).at(1));
  EXPECT_EQ(std::to_string(found.masks[1].count), kept.at(0).at(1));
}

}  // namespace
}  // namespace strata::ontology
