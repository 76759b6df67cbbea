#include "cli/query_answer.h"

#include <gtest/gtest.h>

namespace strata::cli {
namespace {

TEST(QueryAnswer, KeepsEveryDigitAndWritesNestedValuesAsJson) {
  const auto answer = parse_query_answer(
      R"({"columns":[{"name":"a","type":"DOUBLE"},{"name":"b\u00e4","type":"VARCHAR"},)"
      R"({"name":"c","type":"MAP(VARCHAR, INTEGER[])[]"}],)"
      R"("rows":[[0.30000000000000004,"te\"xt",{"x":1.50,"y":["a\n",null,true,[]],"z":{}}],)"
      R"([-9007199254740993,null,[]],[1e-7,"",[1,[2,3],{"k":{"l":4}}]],[]],)"
      R"("row_count":4,"truncated":true,"read":{"generation":3,"rows":[["no row"]],"files":2}})");
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(answer->table.columns.size(), 3U);
  EXPECT_EQ(answer->table.columns[0].name, "a");
  EXPECT_TRUE(answer->table.columns[0].is_number);
  EXPECT_EQ(answer->table.columns[1].name, "b\xc3\xa4");
  EXPECT_FALSE(answer->table.columns[1].is_number);
  EXPECT_FALSE(answer->table.columns[2].is_number);
  using Row = std::vector<std::optional<std::string>>;
  const std::vector<Row> expected{
      {"0.30000000000000004", "te\"xt", R"({"x":1.50,"y":["a\n",null,true,[]],"z":{}})"},
      {"-9007199254740993", std::nullopt, "[]"},
      {"1e-7", "", R"([1,[2,3],{"k":{"l":4}}])"},
      {}};
  EXPECT_EQ(answer->table.rows, expected);
  EXPECT_EQ(answer->row_count, 4U);
  EXPECT_TRUE(answer->truncated);
}

TEST(QueryAnswer, RefusesWhatIsNotAWholeAnswer) {
  for (const std::string_view body :
       {"", "{}", "[]", "null", R"({"columns":[],"rows":[[1)", R"({"columns":[]})",
        R"({"columns":[],"rows":[]}x)", R"({"columns":1,"rows":2})"}) {
    EXPECT_FALSE(parse_query_answer(body)) << body;
  }
  EXPECT_TRUE(parse_query_answer(R"({"columns":[],"rows":[]})"));
}

// Shapes that no Strata sends must not break the reader either.
TEST(QueryAnswer, TakesStrangeShapesWithoutHarm) {
  for (const std::string_view body :
       {R"({"columns":[1,[2],{"name":{"x":1}}],"rows":[1,"a",{"k":1},[[]]]})",
        R"({"rows":[[1,2]],"columns":[]})", R"({"columns":{"a":{"name":1}},"rows":{"a":[1]}})"}) {
    const auto answer = parse_query_answer(body);
    ASSERT_TRUE(answer) << body;
    EXPECT_TRUE(render_table(answer->table).ends_with('\n')) << body;
  }
}

TEST(QueryAnswer, NumberTypes) {
  for (const std::string_view name : {"BIGINT", "DOUBLE", "DECIMAL(18,3)", "HUGEINT", "UTINYINT"}) {
    EXPECT_TRUE(is_number_type(name)) << name;
  }
  for (const std::string_view name : {"VARCHAR", "BIGINT[]", "DECIMAL(18,3)[]", "DATE", ""}) {
    EXPECT_FALSE(is_number_type(name)) << name;
  }
}

}  // namespace
}  // namespace strata::cli
