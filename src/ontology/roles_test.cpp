#include "ontology/roles.h"

#include <gtest/gtest.h>

#include <span>

#include "ontology/testing/profiled_rows.h"

namespace strata::ontology {
namespace {

using Cells = std::vector<std::string>;

Cells times(std::size_t count, const Cells& cells) {
  Cells all;
  for (std::size_t i = 0; i < count; ++i) all.insert(all.end(), cells.begin(), cells.end());
  return all;
}

Cells with(Cells cells, const Cells& more) {
  cells.insert(cells.end(), more.begin(), more.end());
  return cells;
}

/// `count` numbers from `first`, with something before and behind.
Cells numbers(std::size_t count, std::size_t first, const std::string& before = "",
              const std::string& behind = "") {
  Cells cells;
  for (std::size_t i = 0; i < count; ++i) {
    cells.push_back(before + std::to_string(first + i) + behind);
  }
  return cells;
}

Role role(const std::string& name, const Cells& cells) {
  std::vector<ProfiledRows::Row> rows;
  for (const std::string& cell : cells) rows.push_back({cell});
  const ProfiledRows table({name}, std::move(rows));
  return role_of(table.profile().columns.front(), cells.size());
}

struct Case {
  std::string name;
  Cells cells;
  Role role;
};

void expect_roles(std::span<const Case> cases) {
  for (const auto& [name, cells, expected] : cases) {
    EXPECT_EQ(role_name(role(name, cells)), role_name(expected)) << name << " " << cells.front();
  }
}

TEST(RolesTest, OfWhatSaysLittle) {
  const Case cases[] = {
      {"department", times(5, {"n/a", ""}), Role::kEmpty},
      {"tenant", times(9, {"acme"}), Role::kConstant},
      {"employee_id", times(9, {"E1"}), Role::kConstant},
      // Slips make no second value; a value that occurs twice is one, and of few rows any.
      {"tenant", with(times(80, {"acme"}), {"acne", "acmy"}), Role::kConstant},
      {"tenant", with(times(80, {"acme"}), {"acne", "acne"}), Role::kCategory},
      {"tenant", with(times(20, {"acme"}), {"acne"}), Role::kCategory},
      // One row says not that a column is constant.
      {"department", {"Sales"}, Role::kCategory},
      // A constant amount, time or flag is still one.
      {"fee_amount", times(9, {"12.50"}), Role::kMeasure},
      {"pay_period", times(9, {"2026-06"}), Role::kTime},
      {"is_active", times(9, {"true"}), Role::kFlag},
      {"x", times(9, {"12.50"}), Role::kConstant},
  };
  expect_roles(cases);
}

TEST(RolesTest, OfTimes) {
  const Case cases[] = {
      {"x", {"2026-06-01", "2026-06-02"}, Role::kTime},
      {"x", {"2026-06-01T10:00:00Z", "2026-06-02T10:00:00+02:00"}, Role::kTime},
      {"model_year", times(3, numbers(20, 1990)), Role::kTime},
      {"year", times(3, numbers(30, 1)), Role::kMeasure},
      {"ts", numbers(40, 1'700'000'000), Role::kTime},
      {"event_time", numbers(40, 1'700'000'000'000), Role::kTime},
      {"timestamp", numbers(40, 17), Role::kMeasure},
      // What no type takes is about time all the same.
      {"opened", times(3, {"02/15/2023", "14/05/2022"}), Role::kTime},
      {"opened", times(3, {"Jun 12 1998", "Sunday"}), Role::kCategory},
      {"firmware", times(3, {"2.10.1", "2.9"}), Role::kCategory},
  };
  expect_roles(cases);
}

TEST(RolesTest, OfNamesAndCodes) {
  const Case cases[] = {
      {"employee_id", times(3, numbers(20, 1000, "E")), Role::kIdentifier},
      {"id", numbers(60, 1), Role::kIdentifier},
      {"id_employee", times(3, numbers(20, 1)), Role::kIdentifier},
      {"product_sku", times(3, numbers(20, 1, "S")), Role::kIdentifier},
      {"num_items", times(9, numbers(6, 1)), Role::kMeasure},
      {"sensor_id", times(3, numbers(20, 1, "", ".5")), Role::kMeasure},
      {"line_no", times(9, numbers(6, 1)), Role::kOrdinal},
      {"position", times(9, numbers(6, 10)), Role::kOrdinal},
      // Codes of things do not begin at the first one more often than elsewhere; unique is no line.
      {"item_id", times(9, numbers(6, 400)), Role::kIdentifier},
      {"row_id", numbers(60, 1), Role::kIdentifier},
      {"line_item_pos", times(9, numbers(6, 10)), Role::kOrdinal},
      // The place in an export is nobody's code; what begins elsewhere is one.
      {"rec_no", numbers(60, 1), Role::kOrdinal},
      {"rec_no", numbers(60, 10), Role::kIdentifier},
      {"rec_no", numbers(60, 4001), Role::kIdentifier},
      // A noun that things are numbered under, all numbers as long; else it counts them.
      {"sales_order", numbers(60, 4500), Role::kIdentifier},
      {"sales_order", numbers(60, 9970), Role::kMeasure},
      {"sales_order", numbers(60, 100), Role::kMeasure},
      {"unit_serial", times(3, numbers(20, 4500)), Role::kIdentifier},
      {"line", times(9, {"U1", "U2"}), Role::kCategory},
      {"employee_name", times(3, {"Ada", "Bo"}), Role::kLabel},
      {"title", times(3, {"Ada", "Bo"}), Role::kLabel},
      {"name", numbers(40, 100), Role::kMeasure},
  };
  expect_roles(cases);
}

TEST(RolesTest, OfFlagsAndTexts) {
  const Case cases[] = {
      {"paid", times(5, {"yes", "no"}), Role::kFlag},
      {"paid", with(times(80, {"yes", "no"}), {"yrs", "np"}), Role::kFlag},
      {"paid", with(times(80, {"yes", "no"}), times(10, {"maybe"})), Role::kCategory},
      {"is_paid", times(5, {"0", "1"}), Role::kFlag},
      {"has_car", times(5, {"0", "1", "2"}), Role::kCategory},
      {"paid", times(5, {"0", "1"}), Role::kFlag},
      {"paid", times(5, {"0", "2"}), Role::kCategory},
      {"paid", times(5, {"1"}), Role::kConstant},
      {"alarms", times(5, {"0", "1"}), Role::kMeasure},
      {"stock", times(5, {"0", "1"}), Role::kMeasure},
      {"risk_level", times(5, {"0", "1"}), Role::kCategory},
      {"comment", numbers(40, 1, "all is well with part "), Role::kText},
      {"comment", times(20, {"all is well here", "nothing to be seen"}), Role::kCategory},
      // A description may be a name; sentences are none.
      {"description", numbers(40, 1, "all is well with part "), Role::kText},
      {"description", numbers(40, 1, "bolt M"), Role::kLabel},
      {"title", numbers(40, 1, "all is well with part "), Role::kLabel},
      {"notes", times(5, {std::string(121, 'x'), "y"}), Role::kText},
      {"page", numbers(10'001, 1, "/p/"), Role::kText},
      {"page", times(2, numbers(10'000, 1, "/p/")), Role::kCategory},
  };
  expect_roles(cases);
}

TEST(RolesTest, OfNumbers) {
  const Case cases[] = {
      {"x", {"1.5", "2.5"}, Role::kMeasure},
      {"quantity", times(9, {"1", "2"}), Role::kMeasure},
      {"passengers", times(9, {"1", "2"}), Role::kMeasure},
      {"passenger", times(9, {"1", "2"}), Role::kCategory},
      {"cluster", times(9, numbers(20, 1)), Role::kCategory},
      {"days_off", times(9, numbers(9, 1)), Role::kMeasure},
      {"times_reopened", times(9, numbers(5, 1)), Role::kMeasure},
      {"age", times(9, numbers(5, 1)), Role::kMeasure},
      {"x", times(9, numbers(25, 1)), Role::kMeasure},
      // The ceiling is a number, not a share of the rows.
      {"cluster", times(900, numbers(20, 1)), Role::kCategory},
      {"x", times(900, numbers(21, 1)), Role::kMeasure},
      // A ceiling of twenty says nothing of eleven rows.
      {"x", numbers(11, 1), Role::kMeasure},
      {"pay_grade", times(9, numbers(8, 1)), Role::kCategory},
      {"stock_level", times(9, numbers(8, 1)), Role::kMeasure},
      {"zip", times(9, {"01234", "99999"}), Role::kCategory},
  };
  expect_roles(cases);
}

TEST(RolesTest, FewValuesButForSlips) {
  Cells cells = times(50, {"open", "paid"});
  cells[1] = "piad";
  cells[7] = "opne";
  for (std::size_t i = 10; i < 12; ++i) cells[i] = "slip" + std::to_string(i);
  std::vector<ProfiledRows::Row> rows;
  for (const std::string& cell : cells) rows.push_back({cell});
  for (std::size_t i = 0; i < 18; ++i) rows.push_back({"open"});
  EXPECT_TRUE(has_few_values(ProfiledRows({"s"}, rows).profile().columns.front(), rows.size()));
  for (std::size_t i = 0; i < 30; ++i) rows.push_back({"other" + std::to_string(i)});
  EXPECT_FALSE(has_few_values(ProfiledRows({"s"}, rows).profile().columns.front(), rows.size()));
}

}  // namespace
}  // namespace strata::ontology
