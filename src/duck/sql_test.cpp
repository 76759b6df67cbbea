#include "duck/sql.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace strata::duck {
namespace {

// Text from outside has no way into fixed text: only a literal converts to Sql::Text.
static_assert(!std::is_convertible_v<std::string, Sql::Text>);
static_assert(!std::is_convertible_v<std::string_view, Sql::Text>);
static_assert(!std::is_convertible_v<const char*, Sql::Text>);
static_assert(!std::is_constructible_v<Sql::Text, std::string>);
static_assert(!std::is_constructible_v<Sql::Text, std::string_view>);
static_assert(!std::is_constructible_v<Sql::Text, const char*>);
static_assert(!std::is_constructible_v<Sql, std::string>);

TEST(SqlTest, IdentifiersAreQuoted) {
  struct Case {
    std::string name;
    std::string quoted;
  };
  const Case cases[] = {
      {"a", R"("a")"},
      {"select", R"("select")"},
      {"a.b", R"("a.b")"},
      {R"(say "x")", R"("say ""x""")"},
      {R"(")", R"("""")"},
      {R"("; DROP TABLE x; --)", R"("""; DROP TABLE x; --")"},
      {"it's", R"("it's")"},
      {R"(back\slash)", R"("back\slash")"},
      {"line\nend", "\"line\nend\""},
      {"\xf0\x9f\x8c\xa1", "\"\xf0\x9f\x8c\xa1\""},
  };
  for (const Case& example : cases) {
    EXPECT_EQ(Sql().ident(example.name).str(), example.quoted);
  }
}

TEST(SqlTest, LiteralsAreQuoted) {
  struct Case {
    std::string text;
    std::string quoted;
  };
  const Case cases[] = {
      {"", "''"},
      {"a", "'a'"},
      {"it's", "'it''s'"},
      {"'", "''''"},
      {"'; DROP TABLE x; --", "'''; DROP TABLE x; --'"},
      {R"(say "x")", R"('say "x"')"},
      {R"(\')", R"('\''')"},  // a backslash escapes nothing in a plain literal
      {"$$a$$", "'$$a$$'"},
  };
  for (const Case& example : cases) {
    EXPECT_EQ(Sql().literal(example.text).str(), example.quoted);
  }
}

TEST(SqlTest, GlobKeepsThePathLiteralAndThePatternAPattern) {
  struct Case {
    std::string path;
    std::string quoted;
  };
  const Case cases[] = {
      {"/srv/data", "'/srv/data/**/*.parquet'"},
      {"/srv/data[1]", "'/srv/data[[]1]/**/*.parquet'"},
      {"/srv/a*b?c", "'/srv/a[*]b[?]c/**/*.parquet'"},
      {"/srv/it's [x]", "'/srv/it''s [[]x]/**/*.parquet'"},
      {"/srv/a b {c}", "'/srv/a b {c}/**/*.parquet'"},
  };
  for (const Case& example : cases) {
    EXPECT_EQ(Sql().glob(example.path, "/**/*.parquet").str(), example.quoted);
  }
}

TEST(SqlTest, PiecesFollowEachOther) {
  Sql inner("SELECT ");
  inner.number(18'446'744'073'709'551'615ULL);
  Sql sql("CREATE VIEW ");
  sql.ident("v").raw(" AS ").append(inner);
  EXPECT_EQ(sql.str(), R"(CREATE VIEW "v" AS SELECT 18446744073709551615)");
}

TEST(SqlDeathTest, WhatSqlCannotSayIsABrokenInvariant) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the race detector ends a fork beside threads
  EXPECT_DEATH(Sql().ident(""), "name.empty");
  EXPECT_DEATH(Sql().ident(std::string("a\0b", 3)), "npos");
  EXPECT_DEATH(Sql().literal(std::string("a\0b", 3)), "npos");
  EXPECT_DEATH(Sql().glob(std::string("a\0b", 3), "/*"), "npos");
}

}  // namespace
}  // namespace strata::duck
