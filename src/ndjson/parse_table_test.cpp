// Runs tests/cases/parser.jsonl: the bodies and what must become of them. The same table is sent
// over a socket by the end-to-end suite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <boost/json.hpp>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ndjson/parse.h"

namespace strata::ndjson {
namespace {

namespace json = boost::json;

using Cell = std::optional<std::string>;

std::string decode_base64(const std::string& text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  EXPECT_EQ(length, static_cast<int>(bytes.size()));
  bytes.resize(bytes.size() - (text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0));
  return bytes;
}

std::string text_of(const json::object& row, std::string_view key) {
  const json::value* const value = row.if_contains(key);
  return value == nullptr ? std::string() : std::string(value->as_string());
}

std::vector<std::string> texts_of(const json::object& row, std::string_view key) {
  const json::value* const value = row.if_contains(key);
  return value == nullptr ? std::vector<std::string>()
                          : json::value_to<std::vector<std::string>>(*value);
}

std::vector<std::vector<Cell>> cells_of(const CellTable& table) {
  std::vector<std::vector<Cell>> rows;
  for (std::size_t r = 0; r < table.row_count(); ++r) {
    std::vector<Cell>& row = rows.emplace_back(table.columns.size());
    for (const Field& field : table.row(r)) row.at(field.column) = std::string(field.text);
  }
  return rows;
}

void expect_accepted(const json::object& row, const std::expected<CellTable, Rejection>& result) {
  ASSERT_TRUE(result) << result.error().errors.front().reason;
  EXPECT_EQ(result->columns, texts_of(row, "columns"));
  std::vector<std::vector<Cell>> expected;
  for (const json::value& cells : row.at("rows").as_array()) {
    std::vector<Cell>& out = expected.emplace_back();
    for (const json::value& cell : cells.as_array()) {
      out.push_back(cell.is_null() ? Cell() : Cell(std::string(cell.as_string())));
    }
  }
  EXPECT_EQ(cells_of(*result), expected);
}

void expect_refused(const json::object& row, const std::expected<CellTable, Rejection>& result) {
  ASSERT_FALSE(result);
  const json::array& expected = row.at("errors").as_array();
  ASSERT_EQ(result.error().errors.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const LineError& error = result.error().errors[i];
    EXPECT_EQ(error.line, expected[i].at("line").to_number<std::uint64_t>());
    EXPECT_EQ(error.column, text_of(expected[i].as_object(), "column"));
    EXPECT_EQ(error.reason, text_of(expected[i].as_object(), "reason"));
  }
  EXPECT_EQ(result.error().error_count, row.at("error_count").to_number<std::uint64_t>());
  EXPECT_EQ(result.error().advice, text_of(row, "advice"));
}

TEST(ParseTable, EveryBodyAsTheTableSays) {
  std::ifstream file(STRATA_SOURCE_DIR "/tests/cases/parser.jsonl");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    const json::object row = json::parse(line).as_object();
    const std::string name = text_of(row, "name");
    SCOPED_TRACE(name);
    EXPECT_TRUE(names.insert(name).second) << "the name stands twice";
    const std::string body =
        row.contains("body") ? text_of(row, "body") : decode_base64(text_of(row, "body_base64"));
    // A copy of exactly this size, so that the sanitizers see every byte read beyond it.
    const std::vector<char> exact(body.begin(), body.end());
    const auto result =
        parse(std::string_view(exact.data(), exact.size()), {texts_of(row, "registered")});
    if (row.at("status").as_int64() == 200) {
      expect_accepted(row, result);
    } else {
      expect_refused(row, result);
    }
  }
  EXPECT_GE(names.size(), 240U);
}

}  // namespace
}  // namespace strata::ndjson
