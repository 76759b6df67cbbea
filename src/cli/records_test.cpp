#include "cli/records.h"

#include <gtest/gtest.h>

#include <span>

#include "cli/test_support.h"

namespace strata::cli {
namespace {

using testing::PiecewiseSource;

// Records as `line:text`; an error as its message.
std::string read_all(InputFormat format, std::string_view text, std::size_t piece_bytes) {
  PiecewiseSource source(text, piece_bytes);
  const auto reader = RecordReader::create(format, source);
  Record record;
  std::string out;
  for (;;) {
    const auto more = reader->next(record);
    if (!more) return out + "error: " + more.error().message;
    if (!*more) return out;
    out += std::to_string(record.line) + ":" + record.text;
  }
}

struct RecordCase {
  std::string_view text;
  std::string_view expected;
};

void expect_all(InputFormat format, std::span<const RecordCase> cases) {
  for (const RecordCase& test : cases) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, test.text.size() + 1}) {
      EXPECT_EQ(read_all(format, test.text, piece), test.expected)
          << "text: " << test.text << " in pieces of " << piece;
    }
  }
}

TEST(NdjsonRecords, AreTheLinesThatAreNotBlank) {
  const RecordCase kCases[] = {
      {"", ""},
      {"\n \n\t\r\n", ""},
      {"{\"a\":1}", "1:{\"a\":1}\n"},
      {"{\"a\":1}\n{\"b\":2}\n", "1:{\"a\":1}\n2:{\"b\":2}\n"},
      {"{\"a\":1}\r\n\r\n \n{\"b\":2}\r\n", "1:{\"a\":1}\n4:{\"b\":2}\n"},
      {"\xef\xbb\xbf{\"a\":1}\n", "1:{\"a\":1}\n"},
      {"\n  {\"a\":1}  \n", "2:  {\"a\":1}  \n"},
      {"not json\n", "1:not json\n"},  // for the server to judge
      {"{\"a\":1}\n[1]\n", "1:{\"a\":1}\n2:[1]\n"},
      {"\n [{\"a\":1},\n{\"a\":2}]\n",
       "error: line 2: the file is a JSON array, and Strata takes one object per line: make it so "
       "with jq -c '.[]'"},
      {std::string_view("\xfe\xff\0{", 4),
       "error: the input is UTF-16, and Strata takes UTF-8: convert it with iconv -f UTF-16 -t "
       "UTF-8"},
  };
  expect_all(InputFormat::kNdjson, kCases);
}

TEST(CsvRecords, AreObjectsOfTextInTheHeadersOrder) {
  const RecordCase kCases[] = {
      {"", ""},
      {"a,b\n", ""},
      {"b,a\n1,2\n", "2:{\"b\":\"1\",\"a\":\"2\"}\n"},
      {"a,b\n,\"\"\n", "2:{\"a\":\"\",\"b\":\"\"}\n"},
      {"a\nx\n\ny\n", "2:{\"a\":\"x\"}\n4:{\"a\":\"y\"}\n"},
      {"a,b\n\"1\n2\",3\n4,5\n", "2:{\"a\":\"1\\n2\",\"b\":\"3\"}\n4:{\"a\":\"4\",\"b\":\"5\"}\n"},
      {"\"say \"\"hi\"\"\"\n1.50\n", "2:{\"say \\\"hi\\\"\":\"1.50\"}\n"},
      {"a\n\"\\/\b\f\r\t\x01\x1f\x7f\xc3\xa4\"\n",
       "2:{\"a\":\"\\\\/\\b\\f\\r\\t\\u0001\\u001f\x7f\xc3\xa4\"}\n"},
      {std::string_view("a\nx\0y\n", 6), "2:{\"a\":\"x\\u0000y\"}\n"},
      {"a\n\xff\n", "2:{\"a\":\"\xff\"}\n"},  // for the server to judge
      {"\"a;b\"\n1\n", "2:{\"a;b\":\"1\"}\n"},
  };
  expect_all(InputFormat::kCsv, kCases);
}

TEST(CsvRecords, RefuseWhatCannotBeRead) {
  const RecordCase kCases[] = {
      {"a,b\n1,2\n3\n",
       "2:{\"a\":\"1\",\"b\":\"2\"}\nerror: line 3: the row has 1 cell, the header row has 2 "
       "cells"},
      {"a,b\n\n1,2,3\n", "error: line 3: the row has 3 cells, the header row has 2 cells"},
      {"a,,b\n1,2,3\n",
       "error: line 1: cell 2 of the header row is empty; every column needs a name"},
      {"\"\"\n1\n", "error: line 1: cell 1 of the header row is empty; every column needs a name"},
      {"\na,b,A\n",
       "error: line 2: the header row has the name 'A' twice (upper and lower case count as the "
       "same); rename one"},
      {"a;b\n1;2\n",
       "error: line 1: the header row is one cell with a semicolon in it: the file seems to be "
       "separated by semicolons, and only commas are read; write it again with commas"},
      {"a\tb\n1\t2\n",
       "error: line 1: the header row is one cell with a tab in it: the file seems to be separated "
       "by tabs, and only commas are read; write it again with commas"},
      {"a,b\n1,\"2\n", "error: line 2: the quote that opens here is never closed"},
  };
  expect_all(InputFormat::kCsv, kCases);
}

}  // namespace
}  // namespace strata::cli
