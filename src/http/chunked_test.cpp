#include "http/chunked.h"

#include <gtest/gtest.h>

#include <string>

namespace strata::http {
namespace {

TEST(ChunkedDecoder, TheSameHoweverTheBytesArrive) {
  const std::string coded = "3;x=y\r\nabc\r\n0a\r\n\r\n34567\r\n9\r\n0\r\nX: y\r\n\r\n";
  for (std::size_t step = 1; step <= coded.size(); ++step) {
    ChunkedDecoder decoder(13);
    std::string body;
    for (std::size_t at = 0; at < coded.size(); at += step) {
      ASSERT_FALSE(decoder.done());
      const std::string_view piece = std::string_view(coded).substr(at, step);
      const auto used = decoder.feed(piece, body);
      ASSERT_TRUE(used) << used.error().message;
      EXPECT_EQ(*used, piece.size());
    }
    EXPECT_TRUE(decoder.done());
    EXPECT_EQ(body, "abc\r\n34567\r\n9");
  }
}

TEST(ChunkedDecoder, LeavesTheNextRequestAlone) {
  ChunkedDecoder decoder(10);
  std::string body;
  EXPECT_EQ(decoder.feed("1\r\na\r\n0\r\n\r\nGET /", body).value(), 11U);
  EXPECT_TRUE(decoder.done());
  EXPECT_EQ(body, "a");
}

TEST(ChunkedDecoder, TheLimitHoldsBeforeTheChunkIsRead) {
  struct Row {
    std::string coded;
    bool fits;
  };
  const Row rows[] = {{"3\r\nabc\r\n", true},
                      {"4\r\n", true},
                      {"5\r\n", false},
                      {"2\r\nab\r\n2\r\n", true},
                      {"2\r\nab\r\n3\r\n", false},
                      {"ffffffffffffffff\r\n", false},
                      {"1\r\na\r\nffffffffffffffff\r\n", false}};
  for (const Row& row : rows) {
    ChunkedDecoder decoder(4);
    std::string body;
    const auto used = decoder.feed(row.coded, body);
    EXPECT_EQ(used.has_value(), row.fits) << row.coded;
    if (used) continue;
    EXPECT_EQ(used.error().code, Code::kBodyTooLarge);
    EXPECT_EQ(used.error().message, "The body is larger than 4 bytes (more than 4 received).");
  }
}

TEST(ChunkedDecoder, ExtensionsAndTrailersTogetherAreBounded) {
  const std::string filler(200, 'x');
  for (const std::string& line : {"1;" + filler + "\r\na\r\n", "X: " + filler + "\r\n"}) {
    ChunkedDecoder decoder(1'000'000);
    std::string body;
    if (line.starts_with('X')) {
      ASSERT_TRUE(decoder.feed("0\r\n", body));
    }
    int lines = 0;
    while (decoder.feed(line, body)) ++lines;
    EXPECT_GT(lines, 70);
    EXPECT_LT(lines, 90);
  }
}

}  // namespace
}  // namespace strata::http
