#include "sql_gate/series.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

namespace strata::sql_gate {
namespace {

namespace json = boost::json;

json::object constant(const json::value& value, const char* type = "INTEGER") {
  return {{"class", "CONSTANT"}, {"value", {{"type", {{"id", type}}}, {"value", value}}}};
}
json::object column(const char* name) {
  return {{"class", "COLUMN_REF"}, {"column_names", json::array{name}}};
}
json::object cast(const json::object& child, const char* type) {
  return {{"class", "CAST"}, {"child", child}, {"cast_type", {{"id", type}}}};
}
json::object call(const char* name, const std::vector<json::object>& children) {
  return {{"class", "FUNCTION"},
          {"function_name", name},
          {"children", json::array(children.begin(), children.end())}};
}

TEST(SeriesTest, TakesConstantBoundsOfSoManyRows) {
  const json::object day = cast(constant("2026-01-01", "VARCHAR"), "DATE");
  const json::object hour = call("to_hours", {cast(constant(6), "BIGINT")});
  for (const auto& bounds : std::vector<std::vector<json::object>>{
           {},
           {constant(3)},
           {constant(100'000'000)},
           {constant(0), constant(10)},
           {call("-", {constant(5)}), constant(5), constant(2)},
           {constant(10), constant(0), call("-", {constant(1)})},
           {call("*", {constant(1000), constant(1000)})},
           {cast(constant(3), "BIGINT")},
           {constant(0), constant(1'000'000'000'000), constant(1'000'000)},
           {constant(1), constant(2), constant(0)},
           {day, column("current_date"), hour},
           {day, call("+", {day, hour}), hour}}) {
    EXPECT_EQ(series_refusal(call("range", bounds)), std::nullopt)
        << json::serialize(call("", bounds));
  }
}

TEST(SeriesTest, RefusesTheRestSayingWhy) {
  struct Case {
    std::vector<json::object> bounds;
    std::string why;
  };
  const std::string constants =
      "range in FROM takes constants only: for bounds out of a table write unnest(range(...)) in "
      "the SELECT list";
  const std::string rows = "range in FROM makes 100000000 rows at most";
  const std::string whole = "range in FROM takes whole numbers";
  json::object deep = constant(1);
  for (int index = 0; index < 40; ++index) deep = call("-", {deep});
  for (const auto& [bounds, why] :
       std::vector<Case>{{{column("n")}, constants},
                         {{constant(0), column("t")}, constants},
                         {{{{"class", "SUBQUERY"}}}, constants},
                         {{call("length", {constant("x", "VARCHAR")}), constant(1)}, constants},
                         {{deep}, constants},
                         {{constant(100'000'001)}, rows},
                         {{constant(18'446'744'073'709'551'615U, "UBIGINT")}, rows},
                         {{call("-", {constant(9'000'000'000)}), constant(1)}, rows},
                         {{call("*", {constant(100'000), constant(100'000)})}, rows},
                         {{constant(json::object{{"upper", 1}, {"lower", 0}}, "HUGEINT")}, whole},
                         {{cast(constant("9999999999", "VARCHAR"), "BIGINT")}, whole},
                         {{constant(15, "DECIMAL")}, whole}}) {
    EXPECT_EQ(series_refusal(call("range", bounds)), why) << json::serialize(call("", bounds));
  }
}

}  // namespace
}  // namespace strata::sql_gate
