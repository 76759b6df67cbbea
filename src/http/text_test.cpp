#include "http/text.h"

#include <gtest/gtest.h>

#include <string>

#include "http/client.h"

namespace strata::http {
namespace {

TEST(PercentEncode, ComesBackWhole) {
  std::string all;
  for (char c = 1; c < 0x7f; ++c) all += c;
  all += "\xc3\xa4";
  EXPECT_EQ(percent_encode("a b/ä?~"), "a%20b%2F%C3%A4%3F~");
  for (const Plus plus : {Plus::kLiteral, Plus::kSpace}) {
    const auto decoded = percent_decode(percent_encode(all), plus);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, all);
  }
}

TEST(Utf8, WellFormedOnly) {
  for (const char* text : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const char* text :
       {"\x80", "\xc0\xaf", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xe1\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

TEST(Authority, HostAndPort) {
  for (const char* text : {"a", "a:", "a:80", "127.0.0.1:8080", "[::1]", "[::1]:80", "a-b.c"}) {
    EXPECT_TRUE(is_authority(text)) << text;
  }
  for (const char* text : {"", ":80", "a:b", "a:80:80", "u@a", "a/b", "[::1", "::1", "[]", "[g]"}) {
    EXPECT_FALSE(is_authority(text)) << text;
  }
}

}  // namespace
}  // namespace strata::http
