#include "ontology/typed_tables.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "ontology/profiler.h"
#include "ontology/testing/table_world.h"

namespace strata::ontology {
namespace {

constexpr ColumnType kText{};
constexpr ColumnType kWhole{.type = Type::kBigint};
constexpr ColumnType kMoney{.type = Type::kDecimal, .precision = 7, .scale = 2};
constexpr ColumnType kMonthly{.type = Type::kMonth};

Property property(std::string name, std::string column, ColumnType type = kText,
                  Role role = Role::kCategory) {
  return {.name = std::move(name), .column = std::move(column), .role = role, .type = type};
}

class TypedTablesTest : public TableWorld {
 protected:
  using Rows = std::vector<duck::TextRow>;

  /// The rows of the table `type`, as text, in the order of their text.
  Rows rows_of(const Model& model, const FrozenTable& table, std::string_view view) {
    for (const TypedTable& one : typed_tables(model, {}, table.relation())) {
      if (one.view != view) continue;
      duck::Sql select("SELECT * FROM (");
      return rows(select.append(one.select).raw(") ORDER BY ALL"));
    }
    ADD_FAILURE() << "no table " << view;
    return {};
  }
  /// Writes the table, as a job does, and answers the names of the file's columns.
  Rows written_columns(const duck::Sql& select) {
    const std::string file = (folder() / "typed.parquet").string();
    duck::Sql copy("COPY (");
    const auto done =
        bench().run(copy.append(select).raw(") TO ").literal(file).raw(" (FORMAT parquet)"), kLong);
    EXPECT_TRUE(done) << done.error().detail;
    return rows(duck::Sql("SELECT column_name FROM (DESCRIBE SELECT * FROM read_parquet(")
                    .glob(file, "")
                    .raw("))"));
  }
};

TEST_F(TypedTablesTest, ACellIsItsValueOrNull) {
  const struct {
    ColumnType type;
    std::vector<std::pair<Cell, Cell>> cells;
  } cases[] = {
      {kText,
       {{" 007 ", "007"},
        {"1e5", "1e5"},
        {"O'Neil \"x\"", "O'Neil \"x\""},
        {" N/A", std::nullopt},
        {"", std::nullopt},
        {std::nullopt, std::nullopt},
        {"nano", "nano"}}},
      {kWhole,
       {{"42", "42"},
        {"-7", "-7"},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775808", std::nullopt},
        {"007", std::nullopt},
        {"1.0", std::nullopt},
        {"1_000", std::nullopt},
        {"0x1F", std::nullopt},
        {"1e3", std::nullopt}}},
      {kMoney,
       {{"79250.00", "79250.00"},
        {"5", "5.00"},
        {".5", "0.50"},
        {"1.500", "1.50"},
        {"1.005", std::nullopt},
        {"00.50", std::nullopt},
        {"007", std::nullopt},
        {"123456.00", std::nullopt},
        {"inf", std::nullopt},
        {"1e2", std::nullopt},
        {"1,000.00", std::nullopt}}},
      {{.type = Type::kDouble},
       {{"1e3", "1000.0"},
        {"1e200", std::nullopt},
        {"1e-400", std::nullopt},
        {"inf", std::nullopt}}},
      {{.type = Type::kDate},
       {{"2026-06-30", "2026-06-30"}, {"2026-02-30", std::nullopt}, {"30/06/2026", std::nullopt}}},
      {kMonthly, {{"2026-06", "2026-06-01"}, {"2026-13", std::nullopt}, {"2026", std::nullopt}}},
      {{.type = Type::kTimestamp},
       {{"2026-06-30T08:00", "2026-06-30 08:00:00"},
        {"2026-06-30 08:00:00.25", "2026-06-30 08:00:00.25"},
        {"2026-06-30T08:00:00+02:00", std::nullopt},
        {"2026-06-30", std::nullopt}}},
      {{.type = Type::kTimestampTz},
       {{"2026-06-30T08:00:00+02:00", "2026-06-30 06:00:00+00"},
        {"2026-06-30T08:00:00Z", "2026-06-30 08:00:00+00"},
        {"2026-06-30T08:00:00", std::nullopt}}},
      {{.type = Type::kBoolean}, {{"Yes", "true"}, {"f", "false"}, {"1", std::nullopt}}},
  };
  for (const auto& [type, cells] : cases) {
    for (const auto& [cell, expected] : cells) {
      duck::Sql select("SELECT ");
      select.append(typed_cell("it's \"c\"", type)).raw("::VARCHAR FROM (SELECT ");
      select.append(cell ? duck::Sql().literal(*cell) : duck::Sql("NULL::VARCHAR"));
      EXPECT_EQ(rows(select.raw(" AS ").ident("it's \"c\"").raw(")")), (Rows{{expected}}))
          << type_name(type.type) << ": " << cell.value_or("NULL");
    }
  }
}

TEST_F(TypedTablesTest, ADayIsItsDayHoweverItIsSpelled) {
  const struct {
    Type type;
    std::string cell;
    std::optional<std::string> value;
  } cases[] = {
      {Type::kDate, "2026-04-03", "2026-04-03"},
      {Type::kDate, "03.04.2026", "2026-04-03"},
      {Type::kDate, "2026/4/3", "2026-04-03"},
      {Type::kDate, "3 Apr 2026", "2026-04-03"},
      {Type::kDate, "Apr 03 2026", "2026-04-03"},
      {Type::kDate, "Apr 3, 2026", "2026-04-03"},
      {Type::kDate, "Apr 31 2026", std::nullopt},
      {Type::kDate, "03/04/2026", std::nullopt},
      {Type::kDate, "31.04.2026", std::nullopt},
      {Type::kDate, "2026-04", std::nullopt},
      {Type::kMonth, "2026-04", "2026-04-01"},
      {Type::kMonth, "04/2026", "2026-04-01"},
      {Type::kMonth, "Apr 2026", "2026-04-01"},
      {Type::kMonth, "03.04.2026", std::nullopt},
      {Type::kTimestamp, "03.04.2026 10:05", "2026-04-03 10:05:00"},
      {Type::kTimestamp, "2026/04/03T10:05:06.5", "2026-04-03 10:05:06.5"},
      {Type::kTimestamp, "03.04.2026 10:05:00Z", std::nullopt},
      {Type::kTimestamp, "03.04.2026", std::nullopt},
      {Type::kVarchar, "03.04.2026", "03.04.2026"},
  };
  for (const auto& [type, cell, value] : cases) {
    duck::Sql select("SELECT (");
    select.append(typed_cell("c", {.type = type})).raw(")::VARCHAR FROM (SELECT ");
    select.literal(cell).raw(" AS c)");
    EXPECT_EQ(rows(select), std::vector<duck::TextRow>{{value}}) << type_name(type) << " " << cell;
  }
}

TEST_F(TypedTablesTest, WhatTheProfileKnowsChangesNoCell) {
  const struct {
    ColumnType type;  // as the model has it
    std::vector<std::string> cells;
    bool verbatim;
    bool casts_as_is;
  } cases[] = {
      {kText, {"a", "b"}, true, true},
      {kText, {"a", " a"}, false, true},
      {kText, {"a", "N/A"}, false, true},
      {kWhole, {"1", "2"}, true, true},
      {kWhole, {"1", " 2 "}, false, true},
      {kMoney, {"1.50", "79250.00"}, true, true},
      // Another type than the profile's, as two columns of one property have it.
      {kMoney, {"1.005", "2.5"}, true, true},
      {{.type = Type::kDate}, {"2026-04-03", "2026-4-3"}, true, true},
      {{.type = Type::kDate}, {"2026-04-03", "03.04.2026"}, true, false},
      {{.type = Type::kDate}, {"2026-04-03", "3 Apr 2026"}, true, false},
      {kMonthly, {"2026-04", "2026-05"}, true, true},
      {kMonthly, {"2026-04", "05/2026"}, true, false},
      {{.type = Type::kTimestamp}, {"2026-04-03T08:00", "2026-04-03 09:00:01.5"}, true, true},
      {{.type = Type::kTimestamp}, {"2026-04-03T08:00", "03.04.2026 09:00"}, true, false},
      {{.type = Type::kTimestampTz}, {"2026-04-03T08:00:00Z", "n/a"}, false, true},
      {{.type = Type::kBoolean}, {"Yes", "no"}, true, true},
      {{.type = Type::kDouble}, {"1e3", "2"}, true, true},
  };
  for (const auto& [type, cells, verbatim, casts_as_is] : cases) {
    std::vector<BatchRow> batch;
    for (const std::string& cell : cells) batch.push_back({"b1", {cell}});
    const FrozenTable table = frozen({"c"}, batch);
    const auto profile = profile_table(bench(), table);
    ASSERT_TRUE(profile) << profile.error().detail;
    const ColumnProfile& known = profile->columns.at(0);
    EXPECT_EQ(known.verbatim, verbatim) << cells.at(0) << ", " << cells.at(1);
    EXPECT_EQ(known.casts_as_is, casts_as_is) << cells.at(0) << ", " << cells.at(1);
    const auto typed = [&](const duck::Sql& cell) {
      duck::Sql select("SELECT ");
      return rows(
          select.append(cell).raw("::VARCHAR FROM ").append(table.relation()).raw(" ORDER BY c"));
    };
    EXPECT_EQ(typed(typed_cell("c", type, known)), typed(typed_cell("c", type)))
        << cells.at(0) << ", " << cells.at(1);
  }
}

TEST_F(TypedTablesTest, NoNumberOfAColumnBecomesAnother) {
  const struct {
    std::vector<std::string> cells;
    std::vector<Cell> values;
  } cases[] = {
      {{"1000000000000000001", "1E5"}, {"1000000000000000001", "1E5"}},
      {{"9007199254740993", "1e5"}, {"9007199254740993", "1e5"}},
      {{"0.12345678901234567891", "2.5"}, {"0.12345678901234567891", "2.5"}},
      {{"59.91386880000001", "7.", "-.5", "+2"}, {"59.91386880000001", "7.0", "-0.5", "2.0"}},
      {{"9e199", "9e-199", "5.E+3", ".5e1"}, {"9e+199", "9e-199", "5000.0", "5.0"}},
  };
  for (const auto& [cells, values] : cases) {
    std::vector<BatchRow> batch;
    for (const std::string& cell : cells) batch.push_back({"b1", {cell}});
    const FrozenTable table = frozen({"c"}, batch);
    const auto profile = profile_table(bench(), table);
    ASSERT_TRUE(profile) << profile.error().detail;
    const ColumnProfile& known = profile->columns.at(0);
    Rows expected;
    for (const Cell& value : values) expected.push_back({value});
    duck::Sql select("SELECT ");
    select.append(typed_cell("c", known.type, known)).raw("::VARCHAR FROM ");
    EXPECT_EQ(rows(select.append(table.relation())), expected) << cells.at(0);
  }
}

TEST_F(TypedTablesTest, AFactKeepsEveryRow) {
  const Model model{.types = {{.kind = Kind::kFact,
                               .view = "pay_fact",
                               .properties = {property("amount", "Amount", kMoney),
                                              property("select_2", "select \"x\"")}}},
                    .links = {}};
  const FrozenTable table =
      frozen({"Amount", "select \"x\""}, {{"b1", {"1.50", "a"}},
                                          {"b1", {"1.50", "a"}},
                                          {"b2", {"oops", "n/a"}},
                                          {"b2", {std::nullopt, std::nullopt}}});
  const std::string file = (folder() / "data/").string();
  EXPECT_EQ(rows_of(model, table, "pay_fact"),
            (Rows{{"1.50", "a", file + "b1.parquet", "b1"},
                  {"1.50", "a", file + "b1.parquet", "b1"},
                  {std::nullopt, std::nullopt, file + "b2.parquet", "b2"},
                  {std::nullopt, std::nullopt, file + "b2.parquet", "b2"}}));
  EXPECT_EQ(written_columns(typed_tables(model, {}, table.relation()).front().select),
            (Rows{{"amount"}, {"select_2"}, {"filename"}, {"_batch_id"}}));
}

TEST_F(TypedTablesTest, ADimensionHasEachKeyOnceWithWhatIsKnownLatest) {
  const Model model{.types = {{.kind = Kind::kFact,
                               .view = "pay_fact",
                               .properties = {property("period", "period", kMonthly, Role::kTime)}},
                              {.kind = Kind::kDimension,
                               .view = "employee",
                               .key = property("id", "id"),
                               .properties = {property("name", "full"), property("team", "name")}}},
                    .links = {}};
  const FrozenTable table = frozen({"id", "full", "name", "period"},
                                   {{"b1", {"E1", "Ada", "red", "2026-05"}},
                                    {"b2", {"E1", "Ada B", "red", "2026-06"}},
                                    {"b3", {"E1", "n/a", "red", "2026-07"}},
                                    // A file's name decides between rows of one time.
                                    {"b3", {" E2", "Bob", "blue", "2026-05"}},
                                    {"b4", {"E2", "Bo", "green", "2026-05"}},
                                    {"b4", {"e2", std::nullopt, std::nullopt, "2026-05"}},
                                    {"b4", {"-", "nobody", "blue", "2026-05"}}});
  EXPECT_EQ(rows_of(model, table, "employee"), (Rows{{"E1", "Ada B", "red", "1"},
                                                     {"E2", "Bo", "green", "2"},
                                                     {"e2", std::nullopt, std::nullopt, "0"}}));
}

TEST_F(TypedTablesTest, ARowWithoutATimeIsNoLatestRow) {
  const Model model{.types = {{.kind = Kind::kFact,
                               .view = "pay_fact",
                               .properties = {property("period", "period", kMonthly, Role::kTime)}},
                              {.kind = Kind::kDimension,
                               .view = "employee",
                               .key = property("id", "id"),
                               .properties = {property("name", "name")}}},
                    .links = {}};
  const FrozenTable table =
      frozen({"id", "name", "period"}, {{"b1", {"E1", "dated", "2026-06"}},
                                        {"b2", {"E1", "undated", std::nullopt}},
                                        {"b3", {"E1", "misdated", "June"}},
                                        {"b4", {"E2", "only", std::nullopt}}});
  EXPECT_EQ(rows_of(model, table, "employee"), (Rows{{"E1", "dated", "1"}, {"E2", "only", "0"}}));
}

TEST_F(TypedTablesTest, OfRowsOfOneTimeAndBatchTheOrderChoosesNone) {
  const Model model{.types = {{.kind = Kind::kDimension,
                               .view = "employee",
                               .key = property("id", "id"),
                               .properties = {property("name", "name")}}},
                    .links = {}};
  const FrozenTable table = frozen(
      {"id", "name"},
      {{"b1", {"E1", "Ada"}}, {"b1", {"E1", "Bea"}}, {"b1", {"E2", "Bea"}}, {"b1", {"E2", "Ada"}}});
  EXPECT_EQ(rows_of(model, table, "employee"), (Rows{{"E1", "Bea", "1"}, {"E2", "Bea", "1"}}));
}

TEST_F(TypedTablesTest, TheCellsOfAnotherRoleAreNotRounded) {
  Property key = property("airport", "origin");
  key.more_columns = {"dest"};
  Property height = property("height", "origin_height", kMoney);
  height.more_columns = {"dest_height"};
  Property city = property("city", "origin_city");
  city.more_columns = {""};
  const Model model{.types = {{.kind = Kind::kDimension,
                               .view = "airport",
                               .key = key,
                               .properties = {city, height}}},
                    .links = {}};
  const FrozenTable table =
      frozen({"origin", "dest", "origin_height", "dest_height", "origin_city"},
             {{"b1", {"OSL", "LYS", "681.25", "821.005", "Oslo"}},
              {"b1", {"BRN", "OSL", "1674.50", "681.25", "Bern"}}});
  EXPECT_EQ(rows_of(model, table, "airport"), (Rows{{"BRN", "Bern", "1674.50", "0"},
                                                    {"LYS", std::nullopt, std::nullopt, "0"},
                                                    {"OSL", "Oslo", "681.25", "0"}}));
}

}  // namespace
}  // namespace strata::ontology
