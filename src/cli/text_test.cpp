#include "cli/text.h"

#include <gtest/gtest.h>

namespace strata::cli {
namespace {

TEST(Text, PrintableSpellsOutWhatCouldFoolATerminal) {
  struct Case {
    std::string_view text;
    std::string_view expected;
  };
  const Case kCases[] = {
      {"plain \"quoted\" \\ text", "plain \"quoted\" \\ text"},
      {"Zürich 東京 🙂", "Zürich 東京 🙂"},
      {"a\nb\tc\r", "a\\nb\\tc\\r"},
      {"\x1b[31mred\x07\x7f", "\\x1b[31mred\\x07\\x7f"},
      {"\xc2\x9b"
       "31m",
       "\\u009b31m"},
      {"a\xe2\x80\xae"
       "b",
       "a\\u202eb"},
      {"\xff\xfe", "\\xff\\xfe"},
      {"\xc0\x80", "\\xc0\\x80"},           // overlong
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // surrogate
      {"\xe2\x82", "\\xe2\\x82"},           // cut off
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
  };
  for (const Case& test : kCases) EXPECT_EQ(printable(test.text), test.expected);
}

TEST(Text, LinesStayLinesButNoneLooksLikeOurs) {
  EXPECT_EQ(printable_lines("Binder Error\n\nLINE 1: SELECT\x1b\nstrata: ready"),
            "Binder Error\n  \n  LINE 1: SELECT\\x1b\n  strata: ready");
  EXPECT_EQ(printable_lines("one"), "one");
}

TEST(Text, WidthIsWhatATerminalTakes) {
  EXPECT_EQ(display_width("Zürich"), 6U);
  EXPECT_EQ(display_width("東京"), 4U);
  EXPECT_EQ(display_width("e\xcc\x81"), 1U);
  EXPECT_EQ(display_width("🙂"), 2U);
}

TEST(Text, CutsToAWidth) {
  EXPECT_EQ(cut_to_width("abcde", 5), "abcde");
  EXPECT_EQ(cut_to_width("abcdef", 5), "abcd…");
  EXPECT_EQ(cut_to_width("東京都", 6), "東京都");
  EXPECT_EQ(cut_to_width("東京都", 5), "東京…");
  EXPECT_EQ(cut_to_width("東京都", 4), "東…");
}

TEST(Text, Counts) {
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(999, "row"), "999 rows");
  EXPECT_EQ(counted(1'000, "batch"), "1,000 batches");
  EXPECT_EQ(counted(1'234'567, "row"), "1,234,567 rows");
}

}  // namespace
}  // namespace strata::cli
