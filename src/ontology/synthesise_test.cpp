#include "ontology/synthesise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "ontology/testing/sample_streams.h"

namespace strata::ontology {
namespace {

struct Case {
  SampleStream stream;
  std::string expected;
};

std::vector<Case> sample_cases() {
  return {
      {compensation(),
       "PayFact: annual_salary[entity_level Employee per_period] bonus[additive] department "
       "employee_id employment_type location pay_grade pay_period\n"
       "Department = (department)\n"
       "Employee = (employee_id) name\n"
       "EmploymentType = (employment_type)\n"
       "Location = (location)\n"
       "PayGrade = (pay_grade)\n"
       "Employee ~> Department\n"
       "Employee ~> EmploymentType\n"
       "Employee ~> Location\n"
       "Employee ~> PayGrade\n"},
      // Each employee once: the same types, and no claim that rows do not bear out.
      {payroll_export(),
       "PayFact: annual_salary[additive per_period] bonus[additive] department employee_id "
       "employment_type location pay_grade pay_period\n"
       "Department = (department)\n"
       "Employee = (employee_id) name\n"
       "EmploymentType = (employment_type)\n"
       "Location = (location)\n"
       "PayGrade = (pay_grade)\n"},
      {sensors(),
       "ReadingFact: reading_celsius[non_additive] sensor_id site ts\n"
       "Sensor = (sensor_id)\n"
       "Site = (site)\n"
       "Sensor ~> Site\n"},
      {order_lines(),
       "OrderLineFact: currency customer_id line_no line_total[additive EUR] order_date order_id "
       "quantity[additive] sku unit_price[non_additive EUR]\n"
       "Customer = (customer_id) name segment\n"
       "Order = (order_id) date status\n"
       "Product = (sku) category name\n"
       "Order ~> Customer\n"},
      {orders(),
       "OrderFact: (order_id) customer_id order_date order_status total_amount[additive]\n"
       "Customer = (customer_id) name segment\n"},
      {telemetry(),
       "ReadingFact: device_id gateway_id humidity[non_additive] temperature[non_additive] ts\n"
       "Device = (device_id) firmware\n"
       "Gateway = (gateway_id) name\n"
       "Device ~> Gateway\n"},
      {clickstream(),
       "EventFact: (event_id) country event_time event_type page_url user_id\n"
       "Country = (country)\n"
       "EventType = (event_type)\n"
       "PageUrl = (page_url)\n"
       "User = (user_id)\n"
       "User ~> Country\n"},
      {inventory_snapshots(),
       "InventorySnapshotFact: sku snapshot_date stock_level[semi_additive] "
       "unit_cost[non_additive] warehouse_id\n"
       "Sku = (sku)\n"
       "Warehouse = (warehouse_id)\n"},
  };
}

TEST(SynthesiseTest, GivesTheEightStreamsTheirModels) {
  for (const auto& [stream, expected] : sample_cases()) {
    EXPECT_EQ(summary(model_of(stream)), expected) << stream.name;
  }
}

TEST(SynthesiseTest, MissingCellsAndSlipsChangeNoModel) {
  for (const auto& [stream, expected] : sample_cases()) {
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
      const Noise noises[] = {{.seed = seed, .nulls_percent = 3},
                              {.seed = seed, .typos_percent = 2},
                              {.seed = seed, .nulls_percent = 3, .typos_percent = 2}};
      for (const Noise& noise : noises) {
        EXPECT_EQ(summary(model_of(with_noise(stream, noise))), expected)
            << stream.name << " seed " << seed << ": " << noise.nulls_percent << " % NULLs, "
            << noise.typos_percent << " % slips";
      }
    }
  }
}

TEST(SynthesiseTest, DataDecidesWhateverTheNames) {
  const SampleStream staff = renamed(compensation(), {{"month", "pay_period"},
                                                      {"band", "pay_grade"},
                                                      {"staff_label", "employee_name"},
                                                      {"extra", "bonus"},
                                                      {"office", "location"},
                                                      {"yearly", "annual_salary"},
                                                      {"staff_no", "employee_id"},
                                                      {"contract", "employment_type"},
                                                      {"team", "department"}});
  EXPECT_EQ(summary(model_of(staff)),
            "CompensationFact: band contract extra[additive] month office staff_no team "
            "yearly[entity_level Staff per_period]\n"
            "Band = (band)\n"
            "Contract = (contract)\n"
            "Office = (office)\n"
            "Staff = (staff_no) label\n"
            "Team = (team)\n"
            "Staff ~> Band\n"
            "Staff ~> Contract\n"
            "Staff ~> Office\n"
            "Staff ~> Team\n");
  const SampleStream erp = renamed(order_lines(), {{"ord_no", "order_id"},
                                                   {"pos", "line_no"},
                                                   {"ord_dt", "order_date"},
                                                   {"ord_status", "order_status"},
                                                   {"client", "customer_id"},
                                                   {"full_name", "customer_name"},
                                                   {"client_tier", "customer_segment"},
                                                   {"article", "sku"},
                                                   {"article_desc", "product_name"},
                                                   {"grp", "product_category"},
                                                   {"qty", "quantity"},
                                                   {"each", "unit_price"},
                                                   {"amt", "line_total"}});
  EXPECT_EQ(summary(model_of(erp)),
            "OrderLineFact: amt[additive] article client each[entity_level Article] grp ord_dt "
            "ord_no pos qty[additive]\n"
            "Article = (article) description\n"
            "Client = (client) full_name tier\n"
            "Group = (grp)\n"
            "Order = (ord_no) date status\n"
            "Article ~> Group\n"
            "Order ~> Client\n");
}

std::set<std::string> columns_of(const Model& model) {
  std::set<std::string> columns;
  const auto add = [&](const Property& property) {
    columns.insert(property.column);
    columns.insert(property.more_columns.begin(), property.more_columns.end());
  };
  for (const ObjectType& type : model.types) {
    if (type.key) add(*type.key);
    std::ranges::for_each(type.properties, add);
  }
  return columns;
}

TEST(SynthesiseTest, NoColumnIsLostButEmptyOnes) {
  for (auto& [stream, expected] : sample_cases()) {
    const std::set<std::string> columns(stream.columns.begin(), stream.columns.end());
    stream.columns.emplace_back("nothing");
    for (auto& row : stream.rows) row.emplace_back("n/a");
    EXPECT_EQ(columns_of(model_of(stream)), columns) << stream.name;
  }
}

TEST(SynthesiseTest, OrderOfRowsAndColumnsChangesNoByte) {
  std::mt19937 engine(9);
  for (const auto& [stream, expected] : sample_cases()) {
    const std::string json = to_json(model_of(stream));
    SampleStream shuffled = stream;
    // Fisher and Yates: std::shuffle is another one on another machine.
    for (std::size_t i = shuffled.rows.size(); i > 1; --i) {
      std::swap(shuffled.rows[i - 1], shuffled.rows[engine() % i]);
    }
    EXPECT_EQ(to_json(model_of(shuffled)), json) << stream.name;
    std::ranges::reverse(shuffled.columns);
    for (auto& row : shuffled.rows) std::ranges::reverse(row);
    EXPECT_EQ(to_json(model_of(shuffled)), json) << stream.name;
    for (int again = 0; again < 10; ++again) ASSERT_EQ(to_json(model_of(stream)), json);
  }
}

TEST(SynthesiseTest, OfKeysThatSayTheSameTheNameChooses) {
  SampleStream stream = compensation();
  const std::size_t id = static_cast<std::size_t>(std::ranges::find(stream.columns, "employee_id") -
                                                  stream.columns.begin());
  stream.columns.emplace_back("emp_id");
  for (auto& row : stream.rows) row.push_back(row[id]);
  const Model model = model_of(stream);
  const auto employee = std::ranges::find(model.types, "Employee", &ObjectType::name);
  ASSERT_NE(employee, model.types.end());
  EXPECT_EQ(employee->key->column, "emp_id");
  std::ranges::reverse(stream.columns);
  for (auto& row : stream.rows) std::ranges::reverse(row);
  EXPECT_EQ(to_json(model_of(stream)), to_json(model));
}

TEST(SynthesiseTest, MoreRowsOfTheSameChangeNoByte) {
  SampleStream stream = compensation();
  const std::string json = to_json(model_of(stream));
  const auto once = stream.rows;
  for (int times = 0; times < 20; ++times) {
    stream.rows.insert(stream.rows.end(), once.begin(), once.end());
  }
  EXPECT_EQ(to_json(model_of(stream)), json);
}

TEST(SynthesiseTest, IdsAreOfTheKbAndTheName) {
  const SampleStream stream = compensation();
  ProfiledRows rows(stream.columns, stream.rows);
  const auto one =
      synthesise(rows.profile(), rows, {.kb_uuid = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"});
  const auto other =
      synthesise(rows.profile(), rows, {.kb_uuid = "6ba7b811-9dad-11d1-80b4-00c04fd430c8"});
  ASSERT_TRUE(one && other);
  // Python's uuid.uuid5(uuid.NAMESPACE_DNS, "PayFact"), and of that "bonus".
  EXPECT_EQ(one->types[0].id, "7e39eeaa-f631-5ced-9042-09df158c9028");
  EXPECT_EQ(one->types[0].properties[1].id, "b81938c7-8849-5bc8-b308-12cb73f98571");
  EXPECT_NE(other->types[0].id, one->types[0].id);
  const auto none = synthesise(rows.profile(), rows, {.kb_uuid = "demo"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kBadId);
}

TEST(SynthesiseTest, AnEmptyTableHasAFactOfNothing) {
  EXPECT_EQ(summary(model_of({.name = "readings", .columns = {}, .rows = {}})), "ReadingFact:\n");
  EXPECT_EQ(summary(model_of({.name = "readings", .columns = {"a"}, .rows = {}})),
            "ReadingFact:\n");
}

/// Evidence that cannot be had.
class Unavailable final : public Evidence {
 public:
  Result<Dependency> dependency(const std::string&, const std::string&,
                                const std::string&) override {
    return make_error(Code::kTimeout, "too slow");
  }
  Result<std::uint64_t> distinct_pairs(const std::string&, const std::string&) override {
    return make_error(Code::kTimeout, "too slow");
  }
  Result<double> containment(const std::string&, const std::string&) override {
    return make_error(Code::kTimeout, "too slow");
  }
};

TEST(SynthesiseTest, WithoutEvidenceThereIsNoModel) {
  const SampleStream stream = compensation();
  Unavailable evidence;
  const auto model = synthesise(ProfiledRows(stream.columns, stream.rows).profile(), evidence,
                                {.kb_uuid = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::kTimeout);
}

}  // namespace
}  // namespace strata::ontology
