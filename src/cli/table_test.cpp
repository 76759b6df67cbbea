#include "cli/table.h"

#include <gtest/gtest.h>

namespace strata::cli {
namespace {

TEST(Table, Golden) {
  Table table;
  table.columns = {{.name = "city"}, {.name = "n", .is_number = true}, {.name = "note"}};
  table.rows = {{"Zürich", "12", "a\nb"},
                {"東京", std::nullopt, std::nullopt},
                {"", "-3.5", std::string(61, 'x')},
                {std::string(60, 'y')}};
  EXPECT_EQ(render_table(table),
            " city                                                         |    n | note\n"
            "--------------------------------------------------------------+------+-----"
            "---------------------------------------------------------\n"
            " Zürich                                                       |   12 | a\\nb\n"
            " 東京                                                         | NULL | NULL\n"
            "                                                              | -3.5 | "
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\n"
            " yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy |      |\n");
}

TEST(Table, WithoutRows) {
  EXPECT_EQ(render_table({.columns = {{.name = "a"}, {.name = "b"}}, .rows = {}}),
            " a | b\n"
            "---+---\n");
}

}  // namespace
}  // namespace strata::cli
