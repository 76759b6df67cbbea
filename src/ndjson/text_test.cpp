#include "ndjson/text.h"

#include <gtest/gtest.h>

#include <string>

namespace strata::ndjson {
namespace {

using namespace std::string_literals;

TEST(Utf8, EveryCodePointIsValidButTheSurrogates) {
  for (std::uint32_t code_point = 0; code_point <= 0x10ffff; ++code_point) {
    std::string text;
    append_utf8(code_point, text);
    const bool surrogate = code_point >= 0xd800 && code_point < 0xe000;
    ASSERT_EQ(find_invalid_utf8(text) == nullptr, !surrogate) << code_point;
    if (!surrogate && code_point >= 0x80) {
      text.pop_back();
      ASSERT_EQ(find_invalid_utf8(text), text.data()) << "cut: " << code_point;
    }
  }
}

TEST(Utf8, NamesTheFirstByteOfTheBadSequence) {
  const struct {
    std::string text;
    std::size_t at;
  } rows[] = {{"\x80", 0},
              {"\xbf", 0},
              {"\xc0\xaf", 0},
              {"\xc1\xbf", 0},
              {"\xe0\x9f\xbf", 0},
              {"\xed\xa0\x80", 0},
              {"\xf0\x8f\xbf\xbf", 0},
              {"\xf4\x90\x80\x80", 0},
              {"\xf5\x80\x80\x80", 0},
              {"\xff", 0},
              {"ab\xc3\x28", 2},
              {"\xe2\x28\xa1", 0},
              {"\xe2\x82\x28", 0},
              {"\xf0\x9f\x28\x80", 0},
              {"\xf0\x9f\x98\x28", 0},
              {"01234567\xc3\xa9\xc3", 10},
              {"0123456\xf0\x9f\x98\x80\xff", 11}};
  for (const auto& row : rows) {
    const char* const found = find_invalid_utf8(row.text);
    ASSERT_NE(found, nullptr) << row.text;
    EXPECT_EQ(static_cast<std::size_t>(found - row.text.data()), row.at) << row.text;
  }
}

TEST(Ascii, SeesOneHighByteAnywhere) {
  for (std::size_t length = 0; length < 80; ++length) {
    std::string text(length, 'x');
    EXPECT_TRUE(is_ascii(text));
    for (char& c : text) {
      c = '\x80';
      EXPECT_FALSE(is_ascii(text));
      c = '\x7f';
    }
  }
}

TEST(ControlCharacter, IsFoundInBothRanges) {
  EXPECT_EQ(find_control_character("plain é text \u00a0"), std::string::npos);
  EXPECT_EQ(find_control_character("é\n"), 2U);
  EXPECT_EQ(find_control_character("a\0b"s), 1U);
  EXPECT_EQ(find_control_character("ab\x7f"), 2U);
  EXPECT_EQ(find_control_character("ab\u0085"), 2U);
}

TEST(Shown, CutsBetweenCharactersAndHidesNothing) {
  EXPECT_EQ(shown("plain"), "'plain'");
  EXPECT_EQ(shown(""), "''");
  EXPECT_EQ(shown("abcdef", 6), "'abcdef'");
  EXPECT_EQ(shown("abcdefg", 6), "'abcdef…'");
  EXPECT_EQ(shown("aéé", 4), "'aé…'");
  EXPECT_EQ(shown("😀😀", 7), "'😀…'");
  EXPECT_EQ(shown("a\0\n\x1b\x7f\u0085"s), "'a\\u0000\\u000a\\u001b\\u007f\\u0085'");
  EXPECT_EQ(shown("\u200b\u202e\u2066\ufeff"), "'\\u200b\\u202e\\u2066\\ufeff'");
}

}  // namespace
}  // namespace strata::ndjson
