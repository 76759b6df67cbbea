#include "catalog/postgres_url.h"

#include <gtest/gtest.h>

namespace strata::catalog {
namespace {

using Parts = std::vector<std::pair<std::string, std::string>>;

/// What libpq will be told, in its own order of keywords.
Parts parts_of(const std::string& text) {
  const auto url = PostgresUrl::parse(text);
  return url ? url->parts() : Parts{{"refused", url.error().message}};
}

TEST(PostgresUrl, IsTakenApart) {
  EXPECT_EQ(parts_of("postgresql://ada:secret@db.example:5433/strata?sslmode=require"),
            (Parts{{"user", "ada"},
                   {"password", "secret"},
                   {"dbname", "strata"},
                   {"host", "db.example"},
                   {"port", "5433"},
                   {"sslmode", "require"}}));
  EXPECT_EQ(parts_of("postgres://ada:%40%2F%3A%25%20%27@a:1,b:2/strata"),
            (Parts{{"user", "ada"},
                   {"password", "@/:% '"},
                   {"dbname", "strata"},
                   {"host", "a,b"},
                   {"port", "1,2"}}));
  EXPECT_EQ(parts_of("postgresql:///strata?host=/run/postgresql"),
            (Parts{{"dbname", "strata"}, {"host", "/run/postgresql"}}));
}

TEST(PostgresUrl, WhatIsNoneIsRefusedWithoutAWordOfIt) {
  for (const char* text : {
           "",
           "strata",
           "http://ada:secret@host/strata",
           "host=db user=ada password=secret",
           "postgresql://ada:sec@ret@host/strata",  // libpq: the host ret@host
           "postgresql://ada:sec/ret@host/strata",  // libpq: the host ada, the port sec
           "postgresql://ada:secret",               // libpq: the port secret
           "postgresql://ada:%secret@host/strata",
           "postgresql://ada@host/strata?passwort=secret",
           "postgresql://ada@host/strata?secret",
       }) {
    SCOPED_TRACE(text);
    const auto refused = PostgresUrl::parse(text);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kBadRequest);
    EXPECT_EQ(refused.error().message,
              "The URL of PostgreSQL cannot be read. Write "
              "postgresql://user:password@host:5432/database, with the password's special "
              "characters as percent codes: @ is %40, / is %2F, : is %3A, % is %25.");
    EXPECT_EQ(refused.error().detail, "");
  }
}

}  // namespace
}  // namespace strata::catalog
