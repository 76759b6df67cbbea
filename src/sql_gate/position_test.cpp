#include "sql_gate/position.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace strata::sql_gate {
namespace {

// What DuckDB 1.5.6 writes for the same place.
TEST(PositionTest, ShowsTheLineAsDuckDbDoes) {
  EXPECT_EQ(line_at("SELECT a", 7), "\n\nLINE 1: SELECT a\n               ^");
  EXPECT_EQ(line_at("SELECT a,\n  b FROM t\r\nWHERE c", 12), "\n\nLINE 2:   b FROM t\n          ^");
  EXPECT_EQ(line_at("SELECT 'ü', x", 13), "\n\nLINE 1: SELECT 'ü', x\n                    ^");
  EXPECT_EQ(line_at("SELECT a", 8), "");
  EXPECT_EQ(line_at("", 0), "");
}

TEST(PositionTest, CutsALongLineOnBothSides) {
  std::string sql = "SELECT ";
  for (int index = 0; index < 20; ++index) {
    sql += index == 10 ? std::string("nosuch_column_10, ")
                       : fmt::format("11111111111 AS c_{}, ", index);
  }
  EXPECT_EQ(line_at(sql, sql.find("nosuch")),
            "\n\nLINE 1: ..., 11111111111 AS c_7, 11111111111 AS c_8, 11111111111 AS c_9, "
            "nosuch_column_10, 11111111111 AS c_11, 11111111111 AS c_12...\n" +
                std::string(73, ' ') + "^");
}

TEST(PositionTest, MovesAnErrorToTheReadersText) {
  const std::string sql = "select\n  nosuch  from t";
  const std::string executed = "SELECT * FROM (SELECT nosuch FROM t) LIMIT 5";
  const Places places = {{22, 9}, {34, 22}};
  const std::string error = "Binder Error: no \"nosuch\"!" + line_at(executed, 22);
  EXPECT_EQ(relocate(error, executed, sql, places),
            "Binder Error: no \"nosuch\"!\n\nLINE 2:   nosuch  from t\n          ^");
  EXPECT_EQ(relocate("Binder Error: x" + line_at(executed, 3), executed, sql, places),
            "Binder Error: x");
  EXPECT_EQ(relocate("Binder Error: x", executed, sql, places), "Binder Error: x");
}

}  // namespace
}  // namespace strata::sql_gate
