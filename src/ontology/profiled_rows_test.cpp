#include "ontology/testing/profiled_rows.h"

#include <gtest/gtest.h>

#include "ontology/testing/cell_types.h"

namespace strata::ontology {
namespace {

using Row = ProfiledRows::Row;

TEST(ProfiledRowsTest, TypesAreThoseOf98Percent) {
  const struct {
    Counts counts;
    ColumnType type;
  } cases[] = {
      {{{"1", 1}, {"-20", 1}}, {.type = Type::kBigint}},
      {{{"1", 98}, {"x", 2}}, {.type = Type::kBigint}},
      {{{"1", 97}, {"x", 3}}, {}},
      {{{"1", 99}, {"007", 1}}, {}},
      {{{"1.50", 1}, {"123", 1}}, {.type = Type::kDecimal, .precision = 5, .scale = 2}},
      {{{"8", 49}, {"8.5", 50}, {"007", 1}}, {.type = Type::kDecimal, .precision = 2, .scale = 1}},
      {{{"8", 50}, {"8.5", 49}, {"007", 1}}, {}},
      {{{"8", 99}, {"00.50", 1}}, {.type = Type::kBigint}},
      {{{"1e5", 1}}, {.type = Type::kDouble}},
      {{{"1e200", 1}}, {}},
      {{{"1000000000000000001", 1}, {"1e5", 1}}, {}},
      {{{"59.91386880000001", 1}, {"0.5", 1}}, {.type = Type::kDouble}},
      {{{"59.913868800000012", 1}, {"0.5", 1}}, {}},
      {{{"0.1234567890", 1}}, {.type = Type::kDouble}},
      {{{"inf", 1}, {"0x1F", 1}, {"1_000", 1}}, {}},
      {{{"2026-02-28", 1}}, {.type = Type::kDate}},
      {{{"2026-02-30", 1}}, {}},
      {{{"2026-02", 1}}, {.type = Type::kMonth}},
      {{{"2026-13", 1}}, {}},
      {{{"31.12.2026", 1}, {"2026/6/30", 1}}, {.type = Type::kDate}},
      {{{"06/2026", 1}}, {.type = Type::kMonth}},
      {{{"31.12.2026 10:00", 1}}, {.type = Type::kTimestamp}},
      {{{"31.12.2026 10:00:00Z", 1}, {"31.02.2026", 1}, {"06/30/2026", 1}}, {}},
      {{{"2026-02-28 10:00", 1}}, {.type = Type::kTimestamp}},
      {{{"2026-02-28T10:00:00Z", 1}}, {.type = Type::kTimestampTz}},
      {{{"2026-02-28T10:00:00.5+0200", 1}}, {.type = Type::kTimestampTz}},
      {{{"yes", 1}, {"no", 1}}, {.type = Type::kBoolean}},
      {{{"yes", 1}, {"no", 1}, {"t", 1}}, {}},
      {{{"0", 1}, {"1", 1}}, {.type = Type::kBigint}},
      {{}, {}},
  };
  for (const auto& [counts, type] : cases) {
    const ColumnType found = type_of(counts);
    EXPECT_EQ(found, type) << (counts.empty() ? "" : counts.begin()->first) << " "
                           << type_name(found.type);
  }
}

TEST(ProfiledRowsTest, CountsCellsTrimmedAndWithoutNullLikeOnes) {
  const ProfiledRows rows({"c"}, {Row{" E10 "}, Row{"E10"}, Row{"ünx"}, Row{"N/A"}, Row{"--"},
                                  Row{std::nullopt}, Row{"   "}});
  const Profile profile = rows.profile();
  EXPECT_EQ(profile.rows, 7U);
  const ColumnProfile expected = {.column = "c",
                                  .nulls = 4,
                                  .distinct = 2,
                                  .top_frequency = 2,
                                  .length_min = 3,
                                  .length_max = 3,
                                  .cast_ok = 3,
                                  .top = {{"E10", 2}, {"ünx", 1}},
                                  .masks = {{"A9", 1}, {"üa", 1}}};
  EXPECT_EQ(profile.columns.front(), expected);
}

/// The weak point named in ontology-and-ask.md 1.4, with its figures: 4 locations of 5 employees,
/// each of one of two grades, told three times.
TEST(ProfiledRowsTest, LuckIsCountedAtTheGrainOfTheEntity) {
  std::vector<Row> cells;
  for (int period = 0; period < 3; ++period) {
    for (int employee = 0; employee < 20; ++employee) {
      cells.push_back({"E" + std::to_string(employee), "L" + std::to_string(employee % 4),
                       "G" + std::to_string(employee % 2)});
    }
  }
  ProfiledRows rows({"employee", "location", "grade"}, std::move(cells));
  const Dependency by_rows = rows.dependency("location", "grade", "").value();
  EXPECT_EQ(by_rows.g3, 0);
  EXPECT_NEAR(by_rows.log10_luck, -16.86, 0.005);
  EXPECT_NEAR(rows.dependency("location", "grade", "employee")->log10_luck, -4.82, 0.005);
  EXPECT_EQ(rows.dependency("employee", "grade", "employee")->log10_luck, 0);
  EXPECT_NEAR(rows.dependency("grade", "location", "")->g3, 0.5, 1e-9);
  EXPECT_EQ(rows.distinct_pairs("location", "grade").value(), 4U);
}

TEST(ProfiledRowsTest, NullIsAValueOfToAndNoRowOfFrom) {
  ProfiledRows rows({"a", "b"}, {Row{"x", "1"}, Row{"x", std::nullopt}, Row{"x", "1"},
                                 Row{std::nullopt, "2"}, Row{"y", std::nullopt}});
  EXPECT_NEAR(rows.dependency("a", "b", "")->g3, 0.25, 1e-9);
  EXPECT_EQ(rows.containment("a", "b").value(), 0);
  EXPECT_EQ(rows.distinct_pairs("a", "b").value(), 1U);
}

TEST(ProfiledRowsTest, ContainmentIsOfDistinctCells) {
  ProfiledRows rows({"part", "whole"}, {Row{"a", "a"}, Row{"a", "b"}, Row{"z", "c"}});
  EXPECT_EQ(rows.containment("part", "whole").value(), 0.5);
}

}  // namespace
}  // namespace strata::ontology
