#include "ontology/sql_evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ontology/profiler.h"
#include "ontology/testing/table_world.h"

namespace strata::ontology {
namespace {

class SqlEvidenceTest : public TableWorld {
 protected:
  SqlEvidence evidence(const FrozenTable& table, ScreeningLimits limits = {}) {
    auto profile = profile_table(bench(), table);
    EXPECT_TRUE(profile) << profile.error().detail;
    return SqlEvidence(bench(), table, profile.value_or(Profile()), limits);
  }
  static Dependency of(SqlEvidence& evidence, const std::string& from, const std::string& to,
                       const std::string& grain = {}) {
    const auto found = evidence.dependency(from, to, grain);
    EXPECT_TRUE(found) << found.error().message << found.error().detail;
    return found.value_or(Dependency{.g3 = -1});
  }
};

const std::vector<std::string> kPay = {"employee", "name",   "department", "location",
                                       "grade",    "period", "salary"};

/// 20 employees over 3 pay periods in 5 departments and 4 locations, of which two are of one grade
/// and two of another. Each month is a batch.
std::vector<BatchRow> pay_rows() {
  std::vector<BatchRow> rows;
  for (int month = 4; month <= 6; ++month) {
    for (int number = 0; number < 20; ++number) {
      const std::string id = std::to_string(1000 + number);
      rows.push_back({"b" + std::to_string(month),
                      {"E" + id, "Name " + id, "D" + std::to_string(number % 5),
                       "L" + std::to_string(number % 4), "G" + std::to_string(number % 2),
                       "2026-0" + std::to_string(month), std::to_string(50'000 + number) + ".00"}});
    }
  }
  return rows;
}

TEST_F(SqlEvidenceTest, DependenciesOfSixtyRows) {
  SqlEvidence counted = evidence(frozen(kPay, pay_rows()));
  struct Case {
    std::string from;
    std::string to;
    double g3;
    double log10_luck;
  };
  for (const auto& [from, to, g3, log10_luck] : std::vector<Case>{
           // 20 groups of 3 rows: log10 of (5 * 0.2^3)^20, and so on.
           {"employee", "department", 0, 20 * std::log10(0.04)},
           {"employee", "location", 0, 20 * std::log10(0.0625)},
           {"employee", "grade", 0, 20 * std::log10(0.25)},
           {"employee", "name", 0, 20 * std::log10(0.0025)},
           {"employee", "salary", 0, 20 * std::log10(0.0025)},
           // 4 groups of the 5 employees there, not of their 15 rows.
           {"location", "grade", 0, 4 * std::log10(2 * std::pow(0.5, 5))},
           {"department", "location", 0.75, 0},
           {"grade", "employee", 0.9, 0},
           {"employee", "period", 2.0 / 3, 0},
       }) {
    const Dependency found = of(counted, from, to, from == "location" ? "employee" : "");
    EXPECT_DOUBLE_EQ(found.g3, g3) << from << to;
    EXPECT_NEAR(found.log10_luck, log10_luck, 1e-9) << from << to;
  }
  EXPECT_NEAR(of(counted, "employee", "department").log10_luck, -28.0, 0.05);
  EXPECT_EQ(counted.distinct_pairs("employee", "period").value(), 60U);
  EXPECT_EQ(counted.distinct_pairs("location", "department").value(), 20U);
  EXPECT_EQ(counted.distinct_pairs("location", "grade").value(), 4U);
}

TEST_F(SqlEvidenceTest, NothingFollowsFromRowsThatDoNotRepeat) {
  std::vector<BatchRow> rows = pay_rows();
  rows.resize(20);
  SqlEvidence counted = evidence(frozen(kPay, rows));
  EXPECT_EQ(of(counted, "employee", "department").g3, 0);
  EXPECT_EQ(of(counted, "employee", "department").log10_luck, 0);
}

TEST_F(SqlEvidenceTest, NullsAndBlanksAreTakenAsTheProfileTakesThem) {
  SqlEvidence counted = evidence(frozen({"a", "b"}, {{"b1", {"x", "1"}},
                                                     {"b1", {" x ", " 1"}},
                                                     {"b1", {"x", std::nullopt}},
                                                     {"b1", {"y", "n/a"}},
                                                     {"b1", {"y", std::nullopt}},
                                                     {"b1", {"null", "1"}},
                                                     {"b1", {std::nullopt, "2"}}}));
  EXPECT_DOUBLE_EQ(of(counted, "a", "b").g3, 0.2);
  EXPECT_DOUBLE_EQ(of(counted, "b", "a").g3, 0.25);
  EXPECT_EQ(counted.distinct_pairs("b", "a").value(), 1U);
}

TEST_F(SqlEvidenceTest, AFewExceptionsLeaveADependencyPlausible) {
  std::vector<BatchRow> rows = pay_rows();
  rows[7].cells[2] = "D9";
  SqlEvidence counted = evidence(frozen(kPay, rows));
  const Dependency found = of(counted, "employee", "department");
  EXPECT_DOUBLE_EQ(found.g3, 1.0 / 60);
  EXPECT_LT(found.log10_luck, -20);
}

TEST_F(SqlEvidenceTest, ContainmentIsOfDistinctCells) {
  SqlEvidence counted =
      evidence(frozen({"manager", "employee", "none"}, {{"b1", {"E1", "E1", std::nullopt}},
                                                        {"b1", {"E1", "E2", std::nullopt}},
                                                        {"b1", {" E2", "E3 ", std::nullopt}},
                                                        {"b1", {"E9", "E4", "n/a"}},
                                                        {"b1", {"-", "E5", ""}}}));
  EXPECT_DOUBLE_EQ(counted.containment("manager", "employee").value(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(counted.containment("employee", "manager").value(), 0.4);
  EXPECT_DOUBLE_EQ(counted.containment("none", "employee").value(), 0);
  EXPECT_DOUBLE_EQ(counted.containment("employee", "none").value(), 0);
}

TEST_F(SqlEvidenceTest, TheOrderOfBatchesChangesNoFigure) {
  std::vector<BatchRow> rows = pay_rows();
  rows[3].cells[3] = "L9";
  SqlEvidence one = evidence(frozen(kPay, rows));
  const Dependency before = of(one, "employee", "location");
  std::ranges::reverse(rows);
  SqlEvidence other = evidence(frozen(kPay, rows));
  EXPECT_EQ(of(other, "employee", "location").g3, before.g3);
  EXPECT_EQ(of(other, "employee", "location").log10_luck, before.log10_luck);
}

TEST_F(SqlEvidenceTest, AColumnThatIsNotThereIsOurBug) {
  SqlEvidence counted = evidence(frozen({"a"}, {{"b1", {"x"}}}));
  const auto found = counted.dependency("a", "b", "");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kInternal);
  EXPECT_EQ(found.error().detail, "no column b");
}

// A table over the limit, of customers with more and more rows each. A dependency that does not
// hold is known from some of them, each with all its rows; one that holds is counted over all rows.
TEST_F(SqlEvidenceTest, BeyondTheLimitDependenciesAreScreenedOnWholeEntities) {
  write_batch("b1",
              duck::Sql("SELECT 'C' || c AS customer, 'S' || c % 3 AS segment, 'P' || i AS "
                        "product, CASE WHEN i = 29000 THEN 'X' ELSE 'R' || c % 6 END AS region, "
                        "'b1' AS _batch_id "
                        "FROM (SELECT i, floor(sqrt(i * 300))::INT AS c FROM range(30000) "
                        "t(i))"));
  const FrozenTable table = freeze_written({"customer", "segment", "product", "region"});
  SqlEvidence exact = evidence(table);
  SqlEvidence screened =
      evidence(table, {.rows_exact_max = 29'999, .distinct_min = 1'000, .rows_screened = 3'000});
  EXPECT_EQ(of(screened, "customer", "segment").g3, 0);
  EXPECT_EQ(of(screened, "customer", "segment").log10_luck,
            of(exact, "customer", "segment").log10_luck);
  EXPECT_DOUBLE_EQ(of(screened, "customer", "region").g3, 1.0 / 30'000);

  const auto looked_at = rows(duck::Sql("SELECT count(*), count(DISTINCT customer) FROM ")
                                  .append(relation())
                                  .raw(" WHERE md5_number_lower(customer) % 11 = 0"));
  const double seen = std::stod(*looked_at.at(0).at(0));
  const double kept = std::stod(*looked_at.at(0).at(1));
  EXPECT_DOUBLE_EQ(of(screened, "customer", "product").g3, (seen - kept) / seen);
  EXPECT_NE(of(screened, "customer", "product").g3, of(exact, "customer", "product").g3);
  // Few entities are never screened.
  EXPECT_EQ(of(screened, "segment", "region").g3, of(exact, "segment", "region").g3);
}

}  // namespace
}  // namespace strata::ontology
