#include "ndjson/parse.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace strata::ndjson {
namespace {

std::string repeated(std::size_t count, const std::function<std::string(std::size_t)>& piece,
                     std::string_view separator = "") {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += separator;
    text += piece(i);
  }
  return text;
}

std::string repeated(std::size_t count, std::string_view piece) {
  return repeated(count, [&](std::size_t) { return std::string(piece); });
}

bool points_into(std::string_view text, std::string_view body) {
  return std::less_equal<>()(body.data(), text.data()) &&
         std::less_equal<>()(text.data() + text.size(), body.data() + body.size());
}

TEST(Parse, CopiesOnlyWhatItHasToChange) {
  const std::string body =
      R"({"plain":"text","number":1.50,"word":true,"compact":{"a":[1]},"empty":"",)"
      R"("escape":"a\nb","spaced":{ "a":1}})";
  const auto table = parse(body, {});
  ASSERT_TRUE(table);
  ASSERT_EQ(table->columns.size(), 7U);
  const auto row = table->row(0);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(points_into(row[i].text, body)) << i;
  EXPECT_FALSE(points_into(row[5].text, body));
  EXPECT_FALSE(points_into(row[6].text, body));
}

TEST(Parse, CellsStayWhereTheyAreWhenTheTableMoves) {
  const std::string body = repeated(2000, R"({"a":"x\ty","b":[ 1, 2 ]})"
                                          "\n");
  auto parsed = parse(body, {});
  ASSERT_TRUE(parsed);
  const CellTable table = std::move(*parsed);
  ASSERT_EQ(table.row_count(), 2000U);
  for (std::size_t r = 0; r < table.row_count(); ++r) {
    ASSERT_EQ(table.row(r)[0].text, "x\ty") << r;
    ASSERT_EQ(table.row(r)[1].text, "[1,2]") << r;
  }
}

TEST(Parse, OnlyEmptyObjectsAreRowsWithoutColumns) {
  const std::string body = repeated(100'000, "{}\n");
  const auto table = parse(body, {});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->row_count(), 100'000U);
  EXPECT_TRUE(table->columns.empty());
  EXPECT_TRUE(table->fields.empty());
}

TEST(Parse, KeepsNamesAndValuesApartOverThirtyThousandRows) {
  const std::string body = repeated(30'000, "{\"aaa\":\"aaa\",\"bbb\":\"bbb\"}\n");
  const auto table = parse(body, {});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->columns, (std::vector<std::string>{"aaa", "bbb"}));
  ASSERT_EQ(table->row_count(), 30'000U);
  for (std::size_t r = 0; r < table->row_count(); ++r) {
    ASSERT_EQ(table->row(r).size(), 2U);
    ASSERT_EQ(table->row(r)[0].text, "aaa");
    ASSERT_EQ(table->row(r)[1].text, "bbb");
  }
}

TEST(Parse, TakesOneValueOfNineHundredThousandBytes) {
  const std::string body = "{\"v\":\"" + std::string(900'000, 'x') + "\"}\n";
  const auto table = parse(body, {});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->row(0)[0].text, std::string(900'000, 'x'));
}

// Bodies made to be slow: each passes in milliseconds, and would time the suite out if any step
// were quadratic.
TEST(Parse, HostileBodiesAreRefusedWithTheirReason) {
  constexpr std::size_t kMiB = 1'048'576;
  const struct {
    std::string body;
    std::uint64_t error_count;
    std::string reason;
  } rows[] = {
      {"{\"a\":" + repeated(kMiB, "["), 1,
       "The value is nested too deep at byte 69: at most 64 levels, the record being the first."},
      {"{\"a\":" + repeated(100'000, "[") + repeated(100'000, "]") + "}", 1,
       "The value is nested too deep at byte 69: at most 64 levels, the record being the first."},
      {repeated(kMiB / 5, "{\"a\":"), 1,
       "The value is nested too deep at byte 321: at most 64 levels, the record being the first."},
      {"{" +
           repeated(
               10'000, [](std::size_t i) { return fmt::format("\"k{}\":1", i); }, ",") +
           "}",
       1,
       "The column 'k1024' is one too many: a stream has at most 1024 columns, so send changing "
       "keys as values."},
      {"{\"o\":{" +
           repeated(
               100'000, [](std::size_t i) { return fmt::format("\"k{}\":1", i); }, ",") +
           ",\"k500\":2}}",
       1, "The key 'k500' stands twice in one nested object, again at byte 1088897: send it once."},
      {repeated(kMiB / 2, "x\n"), kMiB / 2,
       "A JSON object must begin at byte 1, not 'x': send one object per line."},
      {repeated(kMiB / 16, [](std::size_t i) { return fmt::format("{{\"k{}\":1}}\n", i); }),
       kMiB / 16 - 1024,
       "The column 'k1024' is one too many: a stream has at most 1024 columns, so send changing "
       "keys as values."},
      {"{\"a\":\"" + repeated(kMiB / 2, "\\n"), 1,
       "The string that begins at byte 6 is not closed: send each record whole, on one line, and "
       "line ends in text as \\n."},
      {"{\"" + std::string(kMiB, 'k') + "\":1}", 1,
       "The column name '" + std::string(40, 'k') +
           "…' is 1048576 bytes long: at most 255 are allowed."}};
  for (const auto& row : rows) {
    const auto result = parse(row.body, {});
    ASSERT_FALSE(result) << row.reason;
    EXPECT_EQ(result.error().error_count, row.error_count);
    EXPECT_EQ(result.error().errors.front().reason, row.reason);
    EXPECT_EQ(result.error().errors.size(), std::min<std::uint64_t>(row.error_count, 100));
  }
}

TEST(Parse, ManyColumnsInEveryOrder) {
  std::string body;
  for (std::size_t r = 0; r < 64; ++r) {
    const auto member = [&](std::size_t i) {
      const std::size_t column = r == 0 ? i : (i * 389 + r) % 1024;
      return fmt::format("\"k{}\":\"{}-{}\"", column, r, column);
    };
    body += "{" + repeated(1024, member, ",") + "}\n";
  }
  const auto table = parse(body, {});
  ASSERT_TRUE(table);
  ASSERT_EQ(table->columns.size(), 1024U);
  for (std::size_t r = 0; r < table->row_count(); ++r) {
    ASSERT_EQ(table->row(r).size(), 1024U);
    for (const Field& field : table->row(r)) {
      ASSERT_EQ(table->columns[field.column], fmt::format("k{}", field.column));
      ASSERT_EQ(field.text, fmt::format("{}-{}", r, field.column));
    }
  }
}

TEST(Parse, ManyNestedKeysThatDifferPass) {
  const auto member = [](std::size_t i) { return fmt::format("\"k{}\":1", i); };
  const std::string nested = "{" + repeated(100'000, member, ",") + "}";
  const std::string body = "{\"o\":" + nested + "}";
  const auto table = parse(body, {});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->row(0)[0].text, nested);
}

TEST(Parse, ARegisteredColumnThatTheBatchLacksIsNotInTheTable) {
  const auto table = parse("{\"b\":1}\n", {.registered = {"a", "b"}});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->columns, std::vector<std::string>{"b"});
}

}  // namespace
}  // namespace strata::ndjson
