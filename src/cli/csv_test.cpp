#include "cli/csv.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "cli/test_support.h"

namespace strata::cli {
namespace {

using testing::PiecewiseSource;

// Rows as `line|cell|cell` lines; an error as its message.
std::string read_all(std::string_view text, std::size_t piece_bytes) {
  PiecewiseSource source(text, piece_bytes);
  CsvReader reader(source);
  CsvRow row;
  std::string out;
  for (;;) {
    const auto more = reader.next(row);
    if (!more) return out + "error: " + more.error().message;
    if (!*more) return out;
    out += std::to_string(row.line);
    for (const std::string& cell : row.cells) out += "|" + cell;
    out += ";";
  }
}

struct CsvCase {
  std::string_view text;
  std::string_view expected;
};

TEST(Csv, ReadsRfc4180WhereverThePiecesEnd) {
  const CsvCase kCases[] = {
      {"", ""},
      {"\n\r\n\n", ""},
      {"a", "1|a;"},
      {"a,b\n1,2\n", "1|a|b;2|1|2;"},
      {"a,b\r\n1,2\r\n", "1|a|b;2|1|2;"},
      {"a,b\r", "1|a|b;"},
      {"\xef\xbb\xbfx,b\n1,2", "1|x|b;2|1|2;"},
      {"\xef\xbb\xbf", ""},
      {"\xef\xbb\xbf\"q\"", "1|q;"},
      {",\n", "1||;"},
      {"a,\n", "1|a|;"},
      {"a,", "1|a|;"},
      {"\"\"", "1|;"},
      {"\"\"\n", "1|;"},
      {"\n\"\"\n\nx\n", "2|;4|x;"},
      {"\"a,b\",c", "1|a,b|c;"},
      {"\"a\"\"b\"", "1|a\"b;"},
      {"\"\"\"\"", "1|\";"},
      {"\"a\nb\r\nc\",d\ne,f", "1|a\nb\r\nc|d;4|e|f;"},
      {" a , b \n", "1| a | b ;"},
      {"a\tb;c\n", "1|a\tb;c;"},
      {"\xc3\xa4,\xff\n", "1|\xc3\xa4|\xff;"},
      {std::string_view("a\0b,c\n", 6), std::string_view("1|a\0b|c;", 8)},
      {"a,b\nc\n", "1|a|b;2|c;"},  // ragged rows are for the caller to judge
      {"x\n\"a", "1|x;error: line 2: the quote that opens here is never closed"},
      {"\"a\n\nb\n", "error: line 1: the quote that opens here is never closed"},
      {"a\"b",
       "error: line 1: a quote inside a cell that is not quoted; put the cell in quotes and write "
       "the quote twice"},
      {"x\n\"a\nb\"c",
       "1|x;error: line 3: text after the closing quote of a cell; a quote inside a cell is "
       "written "
       "twice"},
      {"a\rb\n",
       "error: line 1: a carriage return that no line feed follows; rows end in LF or CRLF"},
      {"\"a\"\rb",
       "error: line 1: a carriage return that no line feed follows; rows end in LF or CRLF"},
      {std::string_view("\xff\xfe"
                        "a\0",
                        4),
       "error: the input is UTF-16, and Strata takes UTF-8: convert it with iconv -f UTF-16 -t "
       "UTF-8"},
  };
  for (const CsvCase& test : kCases) {
    for (std::size_t piece = 1; piece <= test.text.size() + 1; ++piece) {
      EXPECT_EQ(read_all(test.text, piece), test.expected)
          << "text: " << test.text << " in pieces of " << piece;
    }
  }
}

TEST(Csv, TellsWhetherACellWasQuoted) {
  PiecewiseSource source("a,\"b\"\nc,d\n", 100);
  CsvReader reader(source);
  CsvRow row;
  ASSERT_TRUE(reader.next(row).value());
  EXPECT_TRUE(row.quoted);
  ASSERT_TRUE(reader.next(row).value());
  EXPECT_FALSE(row.quoted);
}

// A source that never ends, as a file with one stray quote seems not to.
class Endless final : public ByteSource {
 public:
  explicit Endless(std::string_view start) : next_(start) {}
  Result<std::string_view> read() override {
    bytes_ += next_.size();
    return std::exchange(next_, filler_);
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::string filler_ = std::string(1 << 20, 'x');
  std::string_view next_;
  std::uint64_t bytes_ = 0;
};

TEST(Csv, AQuoteThatNeverClosesIsNotReadWithoutEnd) {
  Endless source("a,b\n1,\"2");
  CsvReader reader(source);
  CsvRow row;
  ASSERT_TRUE(reader.next(row).value());
  const auto refused = reader.next(row);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "line 2: the row that begins here is over 67108864 bytes, more than any receiver "
            "takes; is a quote never closed?");
  EXPECT_LE(source.bytes(), limits::kBodyBytesCeiling + (2 << 20));
}

}  // namespace
}  // namespace strata::cli
