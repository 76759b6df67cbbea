#include "sql_gate/rewrite.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

namespace strata::sql_gate {
namespace {

namespace json = boost::json;

json::object number(double value, int place, const char* type = "DOUBLE") {
  return {{"class", "CONSTANT"},
          {"type", "VALUE_CONSTANT"},
          {"alias", "x"},
          {"query_location", place},
          {"value", {{"type", {{"id", type}}}, {"is_null", false}, {"value", value}}}};
}

TEST(RewriteTest, ADoubleBecomesACastOfItsSpelling) {
  for (const auto& [sql, value, spelled] :
       std::vector<std::tuple<std::string, double, std::string>>{{"1e3", 1000, "1e3"},
                                                                 {"1E+3,2", 1000, "1E+3"},
                                                                 {"-2.5e-1", -0.25, "-2.5e-1"},
                                                                 {"1_000e0", 1000, "1000e0"},
                                                                 {"0.1e0)", 0.1, "0.1e0"}}) {
    json::value tree = json::array{number(value, 0)};
    const auto found = spell_doubles(tree, sql);
    ASSERT_TRUE(found) << sql;
    EXPECT_TRUE(*found);
    const json::object& cast = tree.at(0).get_object();
    EXPECT_EQ(cast.at("class"), "CAST");
    EXPECT_EQ(cast.at("alias"), "x");
    EXPECT_EQ(cast.at("cast_type").at("id"), "DOUBLE");
    EXPECT_EQ(cast.at("child").at("value").at("value"), json::value(spelled));
  }
}

TEST(RewriteTest, LeavesEverythingElse) {
  json::value tree = json::array{number(1, 0, "DECIMAL"), "DOUBLE"};
  const json::value before = tree;
  EXPECT_FALSE(spell_doubles(tree, "1.0").value());
  EXPECT_EQ(tree, before);
}

TEST(RewriteTest, RefusesANumberThatIsNotWhereTheTreeSays) {
  for (const char* sql : {"", "x", "2e3", "'1e3'"}) {
    json::value tree = number(1000, 0);
    const auto found = spell_doubles(tree, sql);
    ASSERT_FALSE(found) << sql;
    EXPECT_EQ(found.error().code, Code::kSqlRefused);
  }
}

TEST(RewriteTest, TreesAreTheSameButForTheirPlaces) {
  const auto is_same_text = [](const char* one, const char* other, Places& places) {
    return is_same(json::parse(one), json::parse(other), places);
  };
  Places places;
  EXPECT_TRUE(is_same_text(R"([{"a":1,"query_location":5},{"query_location":7}])",
                           R"([{"query_location":9,"a":1},{"query_location":12}])", places));
  EXPECT_EQ(places, (Places{{9, 5}, {12, 7}}));
  for (const auto& [one, other] :
       std::vector<std::pair<const char*, const char*>>{{R"({"a":1})", R"({"a":2})"},
                                                        {R"({"a":1})", R"({"a":1,"b":1})"},
                                                        {R"({"a":1,"b":1})", R"({"a":1})"},
                                                        {R"({"a":1})", R"({"b":1})"},
                                                        {R"([1,2])", R"([1])"},
                                                        {R"([1])", R"({"a":1})"},
                                                        {R"({"a":"x"})", R"({"a":"X"})"}}) {
    EXPECT_FALSE(is_same_text(one, other, places)) << one << other;
  }
}

TEST(RewriteTest, AProductMayComeBackWithOtherBrackets) {
  const auto join = [](const json::value& left, const json::value& right, const char* kind) {
    return json::value{{"type", "JOIN"}, {"ref_type", kind}, {"left", left}, {"right", right}};
  };
  const json::value a = {{"table_name", "a"}};
  const json::value b = {{"table_name", "b"}};
  const json::value c = {{"table_name", "c"}};
  Places places;
  const json::value one = join(a, join(b, c, "CROSS"), "CROSS");
  EXPECT_TRUE(is_same(one, join(join(a, b, "CROSS"), c, "CROSS"), places));
  EXPECT_FALSE(is_same(one, join(join(a, c, "CROSS"), b, "CROSS"), places));
  EXPECT_FALSE(is_same(one, join(a, b, "CROSS"), places));
  EXPECT_FALSE(is_same(join(a, join(b, c, "REGULAR"), "REGULAR"),
                       join(join(a, b, "REGULAR"), c, "REGULAR"), places));
}

TEST(RewriteTest, ValuesMayComeBackAsAQueryOfThem) {
  Places places;
  const json::value values = {
      {"type", "EXPRESSION_LIST"}, {"alias", "valueslist"}, {"values", json::array{1}}};
  json::value inner = values;
  inner.as_object()["alias"] = "";
  const json::value query = {{"type", "SUBQUERY"},
                             {"alias", "valueslist"},
                             {"subquery", {{"node", {{"from_table", inner}}}}}};
  EXPECT_TRUE(is_same(values, query, places));
  inner.as_object()["values"] = json::array{2};
  EXPECT_FALSE(is_same(
      values, json::value{{"type", "SUBQUERY"}, {"subquery", {{"node", {{"from_table", inner}}}}}},
      places));
}

}  // namespace
}  // namespace strata::sql_gate
