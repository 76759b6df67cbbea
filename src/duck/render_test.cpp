#include "duck/render.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "duck/handles.h"
#include "duck/render_scalar.h"
#include "duck/render_text.h"
#include "duck/worker_connection.h"

namespace strata::duck {
namespace {

class RenderTest : public testing::Test {
 protected:
  RenderTest() {
    EXPECT_EQ(duckdb_open(":memory:", database_.out()), DuckDBSuccess);
    EXPECT_EQ(duckdb_connect(database_.get(), connection_.out()), DuckDBSuccess);
    EXPECT_TRUE(run(connection_.get(), Sql("SET GLOBAL TimeZone='UTC'")));
    auto rows =
        run_for_text(connection_.get(), Sql("SELECT keyword_name FROM duckdb_keywords()"), 1);
    EXPECT_TRUE(rows);
    for (const auto& row : *rows) keywords_.insert(row[0]);
  }

  /// The whole answer, or the error's message.
  std::string render(ResultFormat format, const std::string& sql) {
    QueryResult result;
    if (duckdb_query(connection_.get(), sql.c_str(), result.get()) == DuckDBError) {
      return result.error();
    }
    std::vector<RenderedColumn> columns;
    for (idx_t index = 0; index < duckdb_column_count(result.get()); ++index) {
      const LogicalType type(duckdb_column_logical_type(result.get(), index));
      auto described = describe_type(type.get(), keywords_);
      if (!described) return described.error().message;
      columns.push_back({duckdb_column_name(result.get(), index), std::move(*described)});
    }
    type_name_ = columns.empty() ? "" : columns[0].type.name;
    RowRenderer renderer(format, std::move(columns));
    std::string out;
    EXPECT_TRUE(renderer.append_start(out));
    for (;;) {
      const Chunk chunk(duckdb_fetch_chunk(*result.get()));
      if (!chunk) return out;
      EXPECT_TRUE(
          renderer.append_rows(chunk.get(), 0, duckdb_data_chunk_get_size(chunk.get()), out));
    }
  }

  Database database_;
  Connection connection_;
  Keywords keywords_;
  std::string type_name_;  // of the first column rendered last
};

struct ValueCase {
  std::string expression;
  std::string json;
  std::string csv;  // empty: as `json`
};

const std::vector<ValueCase>& value_cases() {
  static const std::vector<ValueCase> cases = {
      {"true", "true", {}},
      {"(-128)::TINYINT", "-128", {}},
      {"(-32768)::SMALLINT", "-32768", {}},
      {"(-2147483648)::INTEGER", "-2147483648", {}},
      {"255::UTINYINT", "255", {}},
      {"65535::USMALLINT", "65535", {}},
      {"4294967295::UINTEGER", "4294967295", {}},
      // 2^53 is the last whole number a double tells from its neighbours.
      {"9007199254740992::BIGINT", "9007199254740992", {}},
      {"9007199254740993::BIGINT", "\"9007199254740993\"", "9007199254740993"},
      {"-9007199254740992::BIGINT", "-9007199254740992", {}},
      {"-9007199254740993::BIGINT", "\"-9007199254740993\"", "-9007199254740993"},
      {"(-9223372036854775808)::BIGINT", "\"-9223372036854775808\"", "-9223372036854775808"},
      {"1::UBIGINT", "1", {}},
      {"18446744073709551615::UBIGINT", "\"18446744073709551615\"", "18446744073709551615"},
      {"1::HUGEINT", "\"1\"", "1"},
      {"(-170141183460469231731687303715884105728)::HUGEINT",
       "\"-170141183460469231731687303715884105728\"", "-170141183460469231731687303715884105728"},
      {"340282366920938463463374607431768211455::UHUGEINT",
       "\"340282366920938463463374607431768211455\"", "340282366920938463463374607431768211455"},
      {"'-123456789012345678901234567890123456789012345678901234567890'::BIGNUM",
       "\"-123456789012345678901234567890123456789012345678901234567890\"",
       "-123456789012345678901234567890123456789012345678901234567890"},
      {"0::BIGNUM", "\"0\"", "0"},
      {"256::BIGNUM", "\"256\"", "256"},
      {"0.1::DOUBLE", "0.1", {}},
      {"1e22::DOUBLE", "1e+22", {}},
      {"'-0'::DOUBLE", "-0", {}},
      {"1.7976931348623157e308::DOUBLE", "1.7976931348623157e+308", {}},
      {"5e-324::DOUBLE", "5e-324", {}},
      {"'nan'::DOUBLE", "\"NaN\"", "NaN"},
      {"'inf'::DOUBLE", "\"Infinity\"", "Infinity"},
      {"'-inf'::FLOAT", "\"-Infinity\"", "-Infinity"},
      {"0.1::FLOAT", "0.1", {}},
      {"1.5::DECIMAL(4,1)", "\"1.5\"", "1.5"},
      {"(-0.005)::DECIMAL(9,3)", "\"-0.005\"", "-0.005"},
      {"12::DECIMAL(18,6)", "\"12.000000\"", "12.000000"},
      {"7::DECIMAL(10,0)", "\"7\"", "7"},
      {"(-99999999999999999999999999999999999999)::DECIMAL(38,0)",
       "\"-99999999999999999999999999999999999999\"", "-99999999999999999999999999999999999999"},
      {"0.0000000001::DECIMAL(38,10)", "\"0.0000000001\"", "0.0000000001"},
      {"'2026-06-29'::DATE", "\"2026-06-29\"", "2026-06-29"},
      {"'2000-02-29'::DATE", "\"2000-02-29\"", "2000-02-29"},
      {"'0001-01-01'::DATE", "\"0001-01-01\"", "0001-01-01"},
      {"'0044-03-15 (BC)'::DATE", "\"-000043-03-15\"", "-000043-03-15"},
      {"'12345-12-31'::DATE", "\"+012345-12-31\"", "+012345-12-31"},
      {"'infinity'::DATE", "\"infinity\"", "infinity"},
      {"'-infinity'::DATE", "\"-infinity\"", "-infinity"},
      {"'12:34:56'::TIME", "\"12:34:56\"", "12:34:56"},
      {"'23:59:59.000001'::TIME", "\"23:59:59.000001\"", "23:59:59.000001"},
      {"'24:00:00'::TIME", "\"24:00:00\"", "24:00:00"},
      {"'01:02:03.000000009'::TIME_NS", "\"01:02:03.000000009\"", "01:02:03.000000009"},
      {"'12:00:00.5+02:30'::TIMETZ", "\"12:00:00.5+02:30\"", "12:00:00.5+02:30"},
      {"'00:00:00-15:59:59'::TIMETZ", "\"00:00:00-15:59:59\"", "00:00:00-15:59:59"},
      {"'2026-06-29 01:02:03.120'::TIMESTAMP", "\"2026-06-29T01:02:03.12\"",
       "2026-06-29T01:02:03.12"},
      {"'1969-12-31 23:59:59.999999'::TIMESTAMP", "\"1969-12-31T23:59:59.999999\"",
       "1969-12-31T23:59:59.999999"},
      {"'infinity'::TIMESTAMP", "\"infinity\"", "infinity"},
      {"'2026-06-29 01:02:03'::TIMESTAMP_S", "\"2026-06-29T01:02:03\"", "2026-06-29T01:02:03"},
      {"'2026-06-29 01:02:03.004'::TIMESTAMP_MS", "\"2026-06-29T01:02:03.004\"",
       "2026-06-29T01:02:03.004"},
      {"'2026-06-29 01:02:03.000000004'::TIMESTAMP_NS", "\"2026-06-29T01:02:03.000000004\"",
       "2026-06-29T01:02:03.000000004"},
      {"'2026-06-29 01:02:03+02'::TIMESTAMPTZ", "\"2026-06-28T23:02:03Z\"", "2026-06-28T23:02:03Z"},
      {"'infinity'::TIMESTAMPTZ", "\"infinity\"", "infinity"},
      {"'1 year 14 months -3 days 04:05:06.700'::INTERVAL",
       "\"2 years 2 months -3 days 04:05:06.7\"", "2 years 2 months -3 days 04:05:06.7"},
      {"'1 day'::INTERVAL", "\"1 day\"", "1 day"},
      {"'0 days'::INTERVAL", "\"00:00:00\"", "00:00:00"},
      {"to_microseconds(-1)", "\"-00:00:00.000001\"", "-00:00:00.000001"},
      {"'eeb8a5a2-6a5e-4b1e-8c0a-0123456789ab'::UUID", "\"eeb8a5a2-6a5e-4b1e-8c0a-0123456789ab\"",
       "eeb8a5a2-6a5e-4b1e-8c0a-0123456789ab"},
      {"'00000000-0000-0000-0000-000000000000'::UUID", "\"00000000-0000-0000-0000-000000000000\"",
       "00000000-0000-0000-0000-000000000000"},
      {"'10111'::BIT", "\"10111\"", "10111"},
      {"'\\x00\\xFFab'::BLOB", "\"AP9hYg==\"", "AP9hYg=="},
      {"''::BLOB", "\"\"", "\"\""},
      {"'y z'::ENUM('x', 'y z', 'q''r')", "\"y z\"", "y z"},
      {"''", "\"\"", "\"\""},
      {"'plain text over twelve bytes'", "\"plain text over twelve bytes\"",
       "plain text over twelve bytes"},
      {"'a\"b\\c'||chr(10)||chr(9)||chr(1)", R"("a\"b\\c\n\t\u0001")", "\"a\"\"b\\c\n\t\x01\""},
      {"'Ünïcode 🦆'", "\"Ünïcode 🦆\"", "Ünïcode 🦆"},
      {"'a,b'", "\"a,b\"", "\"a,b\""},
      {"'{\"k\": 1}'::JSON", R"("{\"k\": 1}")", R"("{""k"": 1}")"},
      {"NULL", "null", " "},
      {"NULL::INTEGER[]", "null", " "},
      {"[1, NULL, 3]", "[1,null,3]", "\"[1,null,3]\""},
      {"[]::INTEGER[]", "[]", {}},
      {"[['a'], [], NULL]", R"([["a"],[],null])", R"("[[""a""],[],null]")"},
      {"[1, 2]::INTEGER[2]", "[1,2]", "\"[1,2]\""},
      {"{'a': 1, 'b c': [true, NULL]}", R"({"a":1,"b c":[true,null]})",
       R"("{""a"":1,""b c"":[true,null]}")"},
      {"row(1, 'x')", R"([1,"x"])", R"("[1,""x""]")"},
      {"MAP {'k': 1, 'l': NULL}", R"({"k":1,"l":null})", R"("{""k"":1,""l"":null}")"},
      {"MAP {1: [9007199254740993]}", R"({"1":["9007199254740993"]})",
       R"("{""1"":[""9007199254740993""]}")"},
      {"MAP {[1]: 2}", R"({"[1]":2})", R"("{""[1]"":2}")"},
      {"union_value(num := 7)", R"({"num":7})", R"("{""num"":7}")"},
      {"'x'::UNION(num INTEGER, str VARCHAR)", R"({"str":"x"})", R"("{""str"":""x""}")"},
      {"NULL::UNION(num INTEGER, str VARCHAR)", "null", " "},
      {"['1.50'::DECIMAL(4,2)]", R"(["1.50"])", R"("[""1.50""]")"},
  };
  return cases;
}

TEST_F(RenderTest, WritesEveryTypeAsJsonAndCsv) {
  for (const ValueCase& value : value_cases()) {
    const std::string sql = "SELECT " + value.expression;
    EXPECT_EQ(render(ResultFormat::kJson, sql), "[" + value.json + "]") << value.expression;
    const std::string csv = value.csv.empty() ? value.json : value.csv == " " ? "" : value.csv;
    const std::string answer = render(ResultFormat::kCsv, sql + " AS v");
    EXPECT_EQ(answer, "v\r\n" + csv + "\r\n") << value.expression;
  }
}

TEST_F(RenderTest, NamesTypesAsDuckDbDoes) {
  for (const std::string expression :
       {"1",
        "'x'",
        "1::BIGNUM",
        "'1 day'::INTERVAL",
        "now()",
        "now()::TIMESTAMP_NS",
        "'12:00:00'::TIME",
        "'12:00:00+01'::TIMETZ",
        "'{}'::JSON",
        "1.25::DECIMAL(9,2)",
        "[[1]]",
        "[1]::INTEGER[1]",
        "{'a': 1, 'name': 'x', 'Case': 1, 'two words': 1, '9x': 1, 'q\"': 1}",
        "row(1, 'x')",
        "MAP {'k': [1]}",
        "union_value(name := 1)",
        "'x'::ENUM('x', 'q''r')",
        "{'s': {'e': 'x'::ENUM('x')}}",
        "uuid()",
        "'1'::BIT",
        "''::BLOB",
        "1::UHUGEINT"}) {
    const std::string typeof_sql = "SELECT typeof(" + expression + ")";
    render(ResultFormat::kJson, "SELECT " + expression);
    const std::string ours = type_name_;
    QueryResult result;
    ASSERT_EQ(duckdb_query(connection_.get(), typeof_sql.c_str(), result.get()), DuckDBSuccess);
    const auto rows = text_rows(result, 1);
    ASSERT_TRUE(rows);
    EXPECT_EQ(ours, (*rows)[0][0]);
  }
}

TEST_F(RenderTest, EveryTypeDuckDbKnowsGivesValidJsonInEveryRow) {
  const std::string rows = render(
      ResultFormat::kJson, "SELECT * EXCLUDE (geometry, \"timestamp_tz\") FROM test_all_types()");
  boost::json::error_code error;
  boost::json::parse_options options;
  const auto parsed = boost::json::parse("[" + rows + "]", error, {}, options);
  ASSERT_FALSE(error) << error.message() << rows;
  EXPECT_EQ(parsed.as_array().size(), 3U);
}

TEST_F(RenderTest, RefusesTypesWithoutAForm) {
  for (const std::string expression : {"1::VARIANT", "[1::VARIANT]", "'POINT (1 2)'::GEOMETRY"}) {
    EXPECT_EQ(render(ResultFormat::kJson, "SELECT " + expression).substr(0, 23),
              "a value of this type (s")
        << expression;
  }
}

TEST_F(RenderTest, NdjsonNamesEachColumnOnce) {
  EXPECT_EQ(render(ResultFormat::kNdjson,
                   "SELECT i AS x, 'b' AS x, NULL AS \"x_1\", 4 AS x, 5 AS \"q\"\"\" "
                   "FROM range(2) t(i)"),
            "{\"x\":0,\"x_2\":\"b\",\"x_1\":null,\"x_3\":4,\"q\\\"\":5}\n"
            "{\"x\":1,\"x_2\":\"b\",\"x_1\":null,\"x_3\":4,\"q\\\"\":5}\n");
}

TEST_F(RenderTest, CsvKeepsDuplicateNamesAndQuotesHeaders) {
  EXPECT_EQ(render(ResultFormat::kCsv, "SELECT 1 AS a, 2 AS a, NULL AS \"b,c\""),
            "a,a,\"b,c\"\r\n1,2,\r\n");
}

TEST_F(RenderTest, NoRowsIsAHeaderOrNothing) {
  EXPECT_EQ(render(ResultFormat::kJson, "SELECT 1 AS a WHERE false"), "");
  EXPECT_EQ(render(ResultFormat::kNdjson, "SELECT 1 AS a WHERE false"), "");
  EXPECT_EQ(render(ResultFormat::kCsv, "SELECT 1 AS a WHERE false"), "a\r\n");
}

TEST_F(RenderTest, RowsOfManyChunksFollowEachOther) {
  const std::string rows = render(ResultFormat::kJson, "SELECT i FROM range(5000) t(i)");
  EXPECT_EQ(rows.substr(0, 12), "[0],[1],[2],");
  EXPECT_EQ(rows.substr(rows.size() - 14), ",[4998],[4999]");
  EXPECT_EQ(std::ranges::count(rows, '['), 5000);
  EXPECT_EQ(render(ResultFormat::kNdjson, "SELECT [i, i] AS l FROM range(3000) t(i) OFFSET 2999"),
            "{\"l\":[2999,2999]}\n");
}

TEST(RenderTextTest, ReplacesWhatIsNotUtf8) {
  struct Case {
    std::string_view bytes;
    std::string_view json;
  };
  for (const auto& [bytes, json] : std::vector<Case>{
           {"a\xFFz", "\"a\xEF\xBF\xBDz\""},
           {"\xC3", "\"\xEF\xBF\xBD\""},                                  // cut short
           {"\xC0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},                  // overlong
           {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},  // a surrogate
           {"\xF4\x8F\xBF\xBF", "\"\xF4\x8F\xBF\xBF\""},                  // the last character
       }) {
    std::string out;
    append_json_string(out, bytes);
    EXPECT_EQ(out, json);
  }
}

TEST(RenderTextTest, WritesBase64OfAnyLength) {
  // RFC 4648, section 10.
  for (const auto& [bytes, text] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}}) {
    std::string out;
    append_base64(out, bytes);
    EXPECT_EQ(out, text);
  }
}

TEST(RenderScalarTest, WritesTheEndsOfTheirRanges) {
  std::string out;
  append_interval(out, {.months = 0, .days = 0, .micros = std::numeric_limits<int64_t>::min()});
  EXPECT_EQ(out, "-2562047788:00:54.775808");
  out.clear();
  append_timestamp(out, std::numeric_limits<int64_t>::min() + 2, 1'000'000);
  EXPECT_EQ(out, "-290308-12-21T19:59:05.224194");
}

}  // namespace
}  // namespace strata::duck
