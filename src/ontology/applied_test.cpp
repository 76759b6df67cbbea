#include "ontology/applied.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ontology/testing/table_world.h"

namespace strata::ontology {
namespace {

constexpr ColumnType kText{};
constexpr ColumnType kWhole{.type = Type::kBigint};

AppliedTable fact(const std::string& view) {
  return {.type_view = view, .view = {}, .kind = Kind::kFact, .key = {}, .columns = {}, .file = {}};
}

AppliedTable dimension(const std::string& view, const std::string& key, ColumnType type = kText) {
  return {.type_view = view,
          .view = {},
          .kind = Kind::kDimension,
          .key = key,
          .columns = {{key, type}},
          .file = {}};
}

AppliedStream stream(std::string name, std::vector<AppliedTable> tables) {
  return {.stream = std::move(name),
          .snapshot = 1,
          .rows = 3,
          .taken_at = "2026-06-30T00:00:00.000000Z",
          .fingerprint = "f",
          .model_json = R"({"types":[]})",
          .tables = std::move(tables)};
}

std::vector<std::string> names_of(const AppliedStream& stream) {
  std::vector<std::string> names;
  for (const AppliedTable& table : stream.tables) names.push_back(table.view);
  return names;
}

using Names = std::vector<std::string>;

TEST(AppliedTest, AViewIsNamedOnce) {
  Applied applied;
  const auto apply = [&applied](AppliedStream one) {
    name_views(one, applied);
    std::erase_if(applied, [&](const AppliedStream& old) { return old.stream == one.stream; });
    applied.push_back(one);
    return names_of(one);
  };
  const struct {
    AppliedStream stream;
    Names expected;
  } steps[] = {
      {stream("m", {fact("reading_fact"), dimension("location", "location")}),
       {"reading_fact", "location"}},
      // Before it in the order of names: the view of another stream stays what it was.
      {stream("a", {fact("reading_fact"), dimension("location", "location")}),
       {"reading_fact_2", "location"}},
      {stream("b", {fact("reading_fact"), dimension("location", "location_id")}),
       {"reading_fact_3", "location_2"}},
      // A type that is called so itself.
      {stream("c", {dimension("location_2", "x"), fact("location")}),
       {"location_2_2", "location_3"}},
      {stream("d", {dimension("location", "location_id")}), {"location_2"}},
      // Whole numbers and text are no keys of one thing.
      {stream("e", {dimension("location", "location", kWhole)}), {"location_4"}},
      {stream("f", {dimension("location", "location",
                              {.type = Type::kDecimal, .precision = 9, .scale = 1})}),
       {"location_4"}},
      {stream("g", {dimension("location", "location",
                              {.type = Type::kDecimal, .precision = 38, .scale = 30})}),
       {"location_5"}},
      // Again, and with other keys.
      {stream("b", {fact("reading_fact"), dimension("location", "location_id")}),
       {"reading_fact_3", "location_2"}},
      {stream("m", {fact("reading_fact"), dimension("location", "location")}),
       {"reading_fact", "location"}},
      {stream("b", {fact("reading_fact"), dimension("location", "location")}),
       {"reading_fact_3", "location"}},
  };
  for (const auto& [one, expected] : steps) {
    EXPECT_EQ(apply(one), expected) << one.stream;
  }
}

/// Whoever asks `ontology.employee` finds it, though another view would take its keys now.
TEST(AppliedTest, AViewKeepsItsNameWhenItsKeysBecomeAnothersToo) {
  AppliedStream a = stream("a", {dimension("employee", "id", kWhole)});
  name_views(a, {});
  AppliedStream b = stream("b", {dimension("employee", "id")});
  name_views(b, {a});
  AppliedStream again = stream("a", {dimension("employee", "id")});
  name_views(again, {a, b});
  EXPECT_EQ(names_of(a), (Names{"employee"}));
  EXPECT_EQ(names_of(b), (Names{"employee_2"}));
  EXPECT_EQ(names_of(again), (Names{"employee"}));
}

TEST(AppliedTest, IsReadAsItWasWritten) {
  AppliedStream one = stream("pay", {fact("pay_fact"), dimension("grade", "grade", kWhole)});
  one.tables[1].columns.push_back({"raise", {.type = Type::kDecimal, .precision = 7, .scale = 2}});
  for (const Type type : {Type::kDouble, Type::kDate, Type::kMonth, Type::kTimestamp,
                          Type::kTimestampTz, Type::kBoolean}) {
    one.tables[1].columns.push_back({std::string(type_name(type)), {.type = type}});
  }
  one.tables[1].file = "strata/ontology/000001/grade.parquet";
  name_views(one, {});
  const auto read = parse_applied(to_json({one}));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(*read), to_json({one}));
  EXPECT_EQ(read->at(0).tables.at(1).columns, one.tables[1].columns);
  EXPECT_EQ(names_of(read->at(0)), (Names{"pay_fact", "grade"}));
  for (const char* damaged : {"", "{}", R"({"streams":[{}]})", R"({"streams":3})"}) {
    const auto none = parse_applied(damaged);
    ASSERT_FALSE(none) << damaged;
    EXPECT_EQ(none.error().code, Code::kIo) << damaged;
  }
}

TEST(AppliedTest, AVersionIsOfItsModels) {
  Applied applied = {stream("pay", {}), stream("sites", {})};
  const std::string digest = model_digest(applied);
  applied[0].rows = 9;
  applied[0].fingerprint = "g";
  EXPECT_EQ(model_digest(applied), digest);
  applied[1].model_json = "{}";
  EXPECT_NE(model_digest(applied), digest);
}

class ViewsTest : public TableWorld {
 protected:
  using Rows = std::vector<duck::TextRow>;

  /// `select` is what the file of the stream's only table has.
  void add(AppliedStream one, const duck::Sql& select) {
    AppliedTable& table = one.tables.at(0);
    table.file = kFolder + one.stream + ".parquet";
    std::filesystem::create_directories(kb() / kFolder);
    duck::Sql copy("COPY (");
    copy.append(select).raw(") TO ").literal((kb() / table.file).string());
    const auto done = bench().run(copy.raw(" (FORMAT parquet)"), kLong);
    ASSERT_TRUE(done) << done.error().detail;
    name_views(one, applied_);
    applied_.push_back(std::move(one));
  }
  /// What each view reads, in the order of its text.
  std::map<std::string, Rows> views() {
    std::map<std::string, Rows> all;
    for (const auto& [name, select] : views_of(applied_, kb().string())) {
      duck::Sql read("SELECT * FROM (");
      all[name] = rows(read.append(select).raw(") ORDER BY ALL"));
    }
    return all;
  }

 private:
  // No reader takes it for a column `day`.
  const std::string kFolder = "staging/job/day=1/";
  Applied applied_;
};

TEST_F(ViewsTest, FactsOfOneNameAreTwo) {
  add(stream("pay", {fact("pay_fact")}), duck::Sql("SELECT 1 AS bonus, 'f' AS filename, 'b' AS "
                                                   "_batch_id FROM range(2)"));
  add(stream("old", {fact("pay_fact")}), duck::Sql("SELECT 2 AS bonus, 'g' AS filename, 'b' AS "
                                                   "_batch_id"));
  EXPECT_EQ(views(),
            (std::map<std::string, Rows>{
                {"pay_fact", {{"1", "f", "b", "stream:pay"}, {"1", "f", "b", "stream:pay"}}},
                {"pay_fact_2", {{"2", "g", "b", "stream:old"}}}}));
}

TEST_F(ViewsTest, ADimensionOfTwoStreamsHasEachKeyOnce) {
  AppliedStream one = stream("a", {dimension("grade", "grade", kWhole)});
  one.tables[0].columns.push_back({"name", kText});
  one.tables[0].columns.push_back({"raise", {.type = Type::kDecimal, .precision = 3, .scale = 2}});
  one.tables[0].columns.push_back({"since", {.type = Type::kDate}});
  add(one, duck::Sql("SELECT * FROM (VALUES (1::BIGINT, 'one', 1.25, DATE '2026-06-01', 0), "
                     "(2, NULL, NULL, NULL, 1)) "
                     "AS t(grade, name, raise, since, _strata_conflicts)"));
  AppliedStream other = stream("b", {dimension("grade", "grade", kWhole)});
  other.tables[0].columns.push_back({"raise", kWhole});
  other.tables[0].columns.push_back({"name", kText});
  other.tables[0].columns.push_back({"since", {.type = Type::kBoolean}});
  other.tables[0].columns.push_back({"select \"x\"", kText});
  add(other, duck::Sql("SELECT * FROM (VALUES (2::BIGINT, 12345678::BIGINT, 'two', true, 's', 0), "
                       "(3, 7, 'three', false, 't', 2), (1, 9, 'uno', true, 'u', 0)) "
                       "AS t(grade, raise, name, since, \"select \"\"x\"\"\", "
                       "_strata_conflicts)"));
  EXPECT_EQ(
      views(),
      (std::map<std::string, Rows>{{"grade",
                                    {{"1", "one", "1.25", "2026-06-01", "u", "3", "stream:a"},
                                     {"2", "two", "12345678.00", "true", "s", "1", "stream:a"},
                                     {"3", "three", "7.00", "false", "t", "2", "stream:b"}}}}));
}

/// As one view their keys would be text, and the facts of the first one would not join any more.
TEST_F(ViewsTest, KeysOfTwoTypesAreOfTwoThings) {
  add(stream("a", {dimension("site", "site_id", kWhole)}),
      duck::Sql("SELECT 7::BIGINT AS site_id, 0 AS _strata_conflicts"));
  add(stream("b", {dimension("site", "site_id")}),
      duck::Sql("SELECT '07' AS site_id, 0 AS _strata_conflicts"));
  EXPECT_EQ(views(), (std::map<std::string, Rows>{{"site", {{"7", "0", "stream:a"}}},
                                                  {"site_2", {{"07", "0", "stream:b"}}}}));
}

}  // namespace
}  // namespace strata::ontology
