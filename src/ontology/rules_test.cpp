#include "ontology/rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <span>

#include "ontology/testing/sample_streams.h"

namespace strata::ontology {
namespace {

/// Cells by the row's number; scattered: what depends on different numbers is not aligned.
using Maker = std::function<std::string(std::size_t)>;
using Columns = std::vector<std::pair<std::string, Maker>>;

std::size_t scattered(std::size_t row, std::size_t salt) {
  std::uint64_t x = row * 0x9e3779b97f4a7c15ULL + salt * 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 31U;
  x *= 0x94d049bb133111ebULL;
  return static_cast<std::size_t>((x ^ (x >> 29U)) >> 8U);
}

/// One of `count`, by chance.
Maker any(const std::string& before, std::size_t count, std::size_t salt) {
  return [before, count, salt](std::size_t row) {
    return before + std::to_string(scattered(row, salt) % count);
  };
}
/// What the entity of this row has: entities as any(..., entities, salt) draws them.
Maker of(const std::string& before, std::size_t entities, std::size_t salt, std::size_t count) {
  return [before, entities, salt, count](std::size_t row) {
    return before + std::to_string(scattered(scattered(row, salt) % entities, 99) % count);
  };
}
Maker each(const std::string& before) {
  return [before](std::size_t row) { return before + std::to_string(row); };
}
Maker amount(std::size_t salt) {
  return [salt](std::size_t row) {
    return fmt::format("{}.{:02}", scattered(row, salt) % 900, scattered(row, salt + 1) % 100);
  };
}
Maker date() {
  return [](std::size_t row) {
    return fmt::format("2026-{:02}-{:02}", 1 + row / 28 % 12, 1 + row % 28);
  };
}
Maker always(const std::string& cell) {
  return [cell](std::size_t) { return cell; };
}

SampleStream table(const Columns& columns, std::size_t rows = 400) {
  SampleStream stream{.name = "things"};
  for (const auto& [name, maker] : columns) stream.columns.push_back(name);
  for (std::size_t row = 0; row < rows; ++row) {
    ProfiledRows::Row cells;
    for (const auto& [name, maker] : columns) cells.push_back(maker(row));
    stream.rows.push_back(std::move(cells));
  }
  return stream;
}

struct Case {
  std::string what;
  Columns columns;
  std::string model;
  std::size_t rows = 400;
};

void expect_models(std::span<const Case> cases) {
  for (const auto& [what, columns, model, rows] : cases) {
    EXPECT_EQ(summary(model_of(table(columns, rows))), model) << what;
    const Columns backwards(columns.rbegin(), columns.rend());
    EXPECT_EQ(summary(model_of(table(backwards, rows))), model) << what << ", backwards";
  }
}

/// Twenty customers: their id, and what hangs on it.
Maker customer() { return any("C", 20, 1); }
Maker of_customer(const std::string& before, std::size_t count) { return of(before, 20, 1, count); }
Maker customer_name() {
  return [](std::size_t row) { return fmt::format("Name {}", scattered(row, 1) % 20); };
}

TEST(RulesTest, S1OneEntityForEachStem) {
  const Case cases[] = {
      {"codes and names of one stem",
       {{"customer_id", customer()}, {"customer_name", customer_name()}, {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id\nCustomer = (customer_id) name\n"},
      {"the plain word beside a code is its name",
       {{"customer_id", customer()}, {"customer", customer_name()}, {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id\nCustomer = (customer_id) name\n"},
      {"of two codes the better is the key",
       {{"customer_code", customer_name()}, {"customer_id", customer()}, {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id\nCustomer = (customer_id) code\n"},
      {"names that contradict the codes stay in the fact",
       {{"customer_id", customer()}, {"customer_name", any("N", 20, 5)}, {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id customer_name\nCustomer = (customer_id)\n"},
      {"few names for many codes are no names of theirs",
       {{"event_id", each("e")}, {"event_name", any("n", 4, 2)}, {"at", date()}},
       "EventFact: (event_id) at event_name\n"},
  };
  expect_models(cases);
}

TEST(RulesTest, S2NamesJoinCodesOfAnotherStem) {
  const Maker sku = any("S-", 20, 1);
  const Case cases[] = {
      {"each other's, with repeats",
       {{"sku", sku}, {"product_name", customer_name()}, {"amount", amount(2)}},
       "ThingFact: amount[additive] sku\nProduct = (sku) name\n"},
      {"one name for two codes",
       {{"sku", sku}, {"product_name", of_customer("N ", 12)}, {"amount", amount(2)}},
       "ThingFact: amount[additive] product_name sku\nProduct = (product_name)\nSku = (sku)\n"
       "Sku ~> Product\n"},
      {"each other's, but nothing repeats",
       {{"sku", each("S-")}, {"product_name", each("N ")}, {"amount", amount(2)}, {"at", date()}},
       "SkuFact: (sku) amount[additive] at product_name\n"},
      {"a name that says not whose it is",
       {{"customer_id", customer()}, {"email", of_customer("m", 15)}, {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id\nCustomer = (customer_id) email\n"},
      {"nor do the rows say it",
       {{"customer_id", customer()}, {"email", any("m", 15, 5)}, {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id email\nCustomer = (customer_id)\n"},
      {"a path and a title",
       {{"page_title", customer_name()},
        {"page_path", of("/p/", 20, 1, 900)},
        {"amount", amount(2)}},
       "ThingFact: amount[additive] page_path\nPage = (page_path) title\n"},
      {"slips in a twentieth of the names make no more things",
       {{"page_title",
         [](std::size_t row) {
           return fmt::format("Name {}{}", scattered(row, 1) % 4,
                              row % 50 == 7 ? fmt::format("x{}", row) : "");
         }},
        {"page_path", any("/p/", 4, 1)},
        {"amount", amount(2)}},
       "ThingFact: amount[additive] page_path\nPage = (page_path) title\n"},
      {"codes and names that only look like ones",
       {{"badge", any("B-", 20, 1)},
        {"who",
         [](std::size_t row) {
           return fmt::format("{} Berg", std::string(1 + scattered(row, 1) % 20, 'A'));
         }},
        {"amount", amount(2)}},
       "ThingFact: amount[additive] badge\nWho = (badge) name\n"},
      {"of persons that each have one row",
       {{"staff_no", each("S")}, {"full_name", each("N ")}, {"bonus", amount(2)}, {"at", date()}},
       "PayFact: at bonus[additive] staff_no\nStaff = (staff_no) full_name\n"},
  };
  expect_models(cases);
}

TEST(RulesTest, S3CategoriesOfAnEntity) {
  const Case cases[] = {
      {"a type, class, grade or level groups across things: it stays one of its own",
       {{"customer_id", customer()}, {"customer_type", of_customer("s", 4)}, {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id customer_type\nCustomer = (customer_id)\n"
       "CustomerType = (customer_type)\nCustomer ~> CustomerType\n"},
      {"named after it and fixed by it",
       {{"customer_id", customer()},
        {"customer_segment", of_customer("s", 4)},
        {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id\nCustomer = (customer_id) segment\n"},
      {"named after it, not fixed by it",
       {{"customer_id", customer()}, {"customer_segment", any("s", 4, 5)}, {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id customer_segment\nCustomer = (customer_id)\n"
       "CustomerSegment = (customer_segment)\n"},
      {"fixed by it, not named after it",
       {{"customer_id", customer()}, {"segment", of_customer("s", 4)}, {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id segment\nCustomer = (customer_id)\n"
       "Segment = (segment)\nCustomer ~> Segment\n"},
      {"nearly the same everywhere: nothing is fixed by anything",
       {{"customer_id", customer()},
        {"customer_segment", [](std::size_t row) { return row % 50 == 0 ? "gold" : "basic"; }},
        {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id customer_segment\nCustomer = (customer_id)\n"
       "CustomerSegment = (customer_segment)\n",
       8000},
  };
  expect_models(cases);
}

TEST(RulesTest, S4WhatIsUniqueAndHasNoName) {
  const Case cases[] = {
      {"is the fact's own id",
       {{"payment_id", each("p")}, {"amount", amount(2)}, {"at", date()}},
       "PaymentFact: (payment_id) amount[additive] at\n"},
      {"with a name it is a thing",
       {{"customer_id", each("c")},
        {"customer_name", each("N ")},
        {"amount", amount(2)},
        {"at", date()}},
       "ThingFact: amount[additive] at customer_id\nCustomer = (customer_id) name\n"},
      {"a category that never repeats groups nothing",
       {{"customer_id", customer()}, {"voucher", each("v ")}, {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id voucher\nCustomer = (customer_id)\n"},
      {"nor does one that looks like codes: it is the rows' own",
       {{"customer_id", customer()}, {"voucher", each("v")}, {"amount", amount(2)}},
       "VoucherFact: (voucher) amount[additive] customer_id\nCustomer = (customer_id)\n"},
  };
  expect_models(cases);
}

TEST(RulesTest, S5OtherPropertiesOfAnEntity) {
  const Maker opened = [](std::size_t row) {
    return fmt::format("2020-01-{:02}", 1 + scattered(row, 1) % 20);
  };
  const Case cases[] = {
      {"a flag, a measure and a time named after it; its time is the fact's too",
       {{"customer_id", customer()},
        {"customer_vip", [](std::size_t row) { return scattered(row, 1) % 2 ? "yes" : "no"; }},
        {"customer_quota",
         [](std::size_t row) { return fmt::format("{}.5", 7 * (scattered(row, 1) % 20)); }},
        {"customer_visit", opened},
        {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id customer_visit\n"
       "Customer = (customer_id) quota[additive] vip visit\n"},
      {"where nothing happens, rows still have a time",
       {{"customer_id", customer()},
        {"customer_created", opened},
        {"customer_updated", opened},
        {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_created customer_id\n"
       "Customer = (customer_id) created updated\n"},
      {"a flag that it fixes, whatever its name, and one that it does not",
       {{"customer_id", customer()},
        {"vip", [](std::size_t row) { return scattered(row, 1) % 2 ? "yes" : "no"; }},
        {"paid", any("", 2, 9)},
        {"rush", [](std::size_t row) { return scattered(row, 7) % 2 ? "yes" : "no"; }},
        {"amount", amount(2)}},
       "ThingFact: amount[additive] customer_id paid rush\nCustomer = (customer_id) vip\n"},
      {"a measure named after it that it does not fix",
       {{"customer_id", customer()}, {"customer_amount", amount(2)}, {"at", date()}},
       "ThingFact: at customer_amount[additive] customer_id\nCustomer = (customer_id)\n"},
      {"a time of its life, whatever its name",
       {{"customer_id", customer()},
        {"signup_date", opened},
        {"at", date()},
        {"amount", amount(2)}},
       "ThingFact: amount[additive] at customer_id\nCustomer = (customer_id) signup_date\n"},
      {"a time that is no life's stays",
       {{"customer_id", customer()}, {"due_date", opened}, {"at", date()}, {"amount", amount(2)}},
       "ThingFact: amount[additive] at customer_id due_date\nCustomer = (customer_id)\n"},
  };
  expect_models(cases);
}

TEST(RulesTest, S6LinksBetweenEntities) {
  const Maker place = of("P", 20, 1, 5);
  const Case cases[] = {
      {"fixed in rows that repeat",
       {{"sensor_id", any("S", 20, 1)}, {"site", place}, {"reading", amount(2)}},
       "ReadingFact: reading[additive] sensor_id site\nSensor = (sensor_id)\nSite = (site)\n"
       "Sensor ~> Site\n"},
      {"so few rows that luck would do",
       {{"sensor_id", any("S", 20, 1)}, {"site", of("P", 20, 1, 2)}, {"reading", amount(2)}},
       "ReadingFact: reading[additive] sensor_id site\nSensor = (sensor_id)\nSite = (site)\n",
       24},
      {"rows of one entity count once: two sites of one region each are no rule",
       {{"sensor_id", any("S", 12, 1)},
        {"site", [](std::size_t row) { return scattered(row, 1) % 12 % 4 < 2 ? "a" : "b"; }},
        {"region", [](std::size_t row) { return scattered(row, 1) % 12 % 4 < 2 ? "x" : "y"; }},
        {"reading", amount(2)}},
       "ReadingFact: reading[additive] region sensor_id site\nRegion = (region)\n"
       "Sensor = (sensor_id)\nSite = (site)\nSensor ~> Region\nSensor ~> Site\n"},
  };
  expect_models(cases);
}

TEST(RulesTest, S7OneKindInSeveralRoles) {
  const Case cases[] = {
      {"the same noun and the same values",
       {{"origin_airport", any("A", 9, 1)}, {"dest_airport", any("A", 9, 2)}, {"delay", amount(3)}},
       "ThingFact: delay[additive] dest_airport origin_airport\n"
       "Airport = (airport+origin_airport)\nThingFact -> Airport as origin_airport\n"},
      {"the same noun, other values",
       {{"origin_airport", any("A", 9, 1)}, {"dest_airport", any("B", 9, 2)}, {"delay", amount(3)}},
       "ThingFact: delay[additive] dest_airport origin_airport\n"
       "DestinationAirport = (dest_airport)\nOriginAirport = (origin_airport)\n"},
      {"roles that say of what they are",
       {{"origin", any("A", 9, 1)}, {"destination", any("A", 9, 2)}, {"delay", amount(3)}},
       "ThingFact: delay[additive] destination origin\nPlace = (place+origin)\n"
       "ThingFact -> Place as origin\n"},
      {"the same values under names that have nothing in common",
       {{"team", any("A", 9, 1)}, {"office", any("A", 9, 2)}, {"delay", amount(3)}},
       "ThingFact: delay[additive] office team\nOffice = (office)\nTeam = (team)\n"},
      {"with names in each role",
       {{"pickup_zone_id", any("Z", 9, 1)},
        {"pickup_zone_name", any("Zone ", 9, 1)},
        {"dropoff_zone_id", any("Z", 9, 2)},
        {"dropoff_zone_name", any("Zone ", 9, 2)},
        {"fare", amount(3)}},
       "ThingFact: dropoff_zone_id fare[additive] pickup_zone_id\n"
       "Zone = (zone_id+pickup_zone_id) name+pickup_zone_name\n"
       "ThingFact -> Zone as pickup_zone\n"},
      {"a role towards its own kind",
       {{"employee_id", any("E", 20, 1)}, {"manager_id", of("E", 20, 1, 4)}, {"hours", amount(3)}},
       "ThingFact: employee_id hours[additive] manager_id\n"
       "Employee = (employee_id+manager_id)\nEmployee ~> Employee as manager\n"
       "ThingFact -> Employee as manager\n"},
      {"managers that are no employees",
       {{"employee_id", any("E", 20, 1)}, {"manager_id", of("M", 20, 1, 4)}, {"hours", amount(3)}},
       "ThingFact: employee_id hours[additive] manager_id\nEmployee = (employee_id)\n"
       "Manager = (manager_id)\nEmployee ~> Manager\n"},
      {"grades are no things in roles",
       {{"job_grade", any("G", 4, 1)}, {"exam_grade", any("G", 4, 2)}, {"bonus", amount(3)}},
       "PayFact: bonus[additive] exam_grade job_grade\nExamGrade = (exam_grade)\n"
       "JobGrade = (job_grade)\n"},
  };
  expect_models(cases);
}

std::string type_of(const Model& model, std::string_view kind, std::string_view column) {
  const ObjectType& type = *std::ranges::find(model.types, kind, &ObjectType::name);
  for (const Property& property : type.properties) {
    if (property.column != column) continue;
    const auto& [name, precision, scale] = property.type;
    return name == Type::kDecimal ? fmt::format("DECIMAL({},{})", precision, scale)
                                  : std::string(type_name(name));
  }
  return "none";
}

/// A number of one of nine zones, in every other row spelled as `sometimes` says.
Maker zone(std::size_t salt, std::string_view mostly, std::string_view sometimes) {
  return [salt, mostly, sometimes](std::size_t row) {
    return fmt::format(fmt::runtime(row % 2 == 0 ? mostly : sometimes), scattered(row, salt) % 9);
  };
}

TEST(RulesTest, S7WhatIsInSeveralRolesLosesTheCellsOfNone) {
  const struct {
    std::string what;
    Maker from, to;
    std::string type;
  } cases[] = {
      {"one type", zone(1, "7{}", "7{}"), zone(2, "7{}", "7{}"), "BIGINT"},
      {"zeros before some", zone(1, "7{}", "7{}"), zone(2, "7{}", "07{}"), "VARCHAR"},
      {"letters in some", zone(1, "7{}", "B{}"), zone(2, "7{}", "7{}"), "VARCHAR"},
  };
  for (const auto& [what, from, to, type] : cases) {
    const Model model =
        model_of(table({{"from_zone_id", from}, {"to_zone_id", to}, {"fare", amount(3)}}));
    ASSERT_EQ(summary(model),
              "ThingFact: fare[additive] from_zone_id to_zone_id\n"
              "Zone = (zone_id+to_zone_id)\nThingFact -> Zone as to_zone\n")
        << what;
    EXPECT_EQ(type_name(model.types.at(1).key->type.type), type) << what;
    // So that they are joined.
    for (const char* const column : {"from_zone_id", "to_zone_id"}) {
      EXPECT_EQ(type_of(model, "ThingFact", column), type) << what << ": " << column;
    }
  }
}

/// What each of nine zones has, by its number in its role.
Maker of_zone(std::size_t salt, std::string_view spelled) {
  return [salt, spelled](std::size_t row) {
    return fmt::format(fmt::runtime(spelled), scattered(row, salt) % 9);
  };
}

TEST(RulesTest, S7APropertyInSeveralRolesLosesTheCellsOfNone) {
  const struct {
    std::string_view from, to;
    std::string type;
  } cases[] = {
      {"{}.5", "{}.5", "DECIMAL(2,1)"},
      {"{}.5", "1{}.125", "DECIMAL(5,3)"},
      {"2026-06-1{}", "2026-06-1{}", "DATE"},
      {"2026-06-1{}", "2026-0{}", "VARCHAR"},
      {"2026-06-1{}", "2026-06-1{}T08:00:00", "VARCHAR"},
  };
  for (const auto& [from, to, type] : cases) {
    const Model model = model_of(table({{"from_zone_id", of_zone(1, "Z{}")},
                                        {"from_zone_since", of_zone(1, from)},
                                        {"to_zone_id", of_zone(2, "Z{}")},
                                        {"to_zone_since", of_zone(2, to)},
                                        {"fare", amount(3)}}));
    EXPECT_EQ(type_of(model, "Zone", "from_zone_since"), type) << from << " " << to;
  }
}

TEST(RulesTest, S8WhatOnlyDescribes) {
  const Case cases[] = {
      {"a status, a mode, a currency of few values; a type is a type",
       {{"task_status", any("s", 4, 1)},
        {"mode", any("m", 4, 2)},
        {"currency", any("c", 4, 3)},
        {"task_type", any("t", 4, 4)},
        {"amount", amount(5)}},
       "ThingFact: amount[additive] currency mode task_status task_type\n"
       "TaskType = (task_type)\n"},
      {"a priority, a quality, a color, a state of few values",
       {{"priority", any("s", 4, 1)},
        {"quality", any("q", 4, 2)},
        {"color", any("c", 4, 3)},
        {"leg_state", any("t", 4, 4)},
        {"state", any("t", 40, 5)},
        {"amount", amount(5)}},
       "ThingFact: amount[additive] color leg_state priority quality state\nState = (state)\n"},
      {"a status of many values is a thing",
       {{"task_status", any("s", 40, 1)}, {"amount", amount(5)}},
       "ThingFact: amount[additive] task_status\nTaskStatus = (task_status)\n"},
      {"a status that is a code",
       {{"status_code", any("4", 4, 1)}, {"amount", amount(5)}},
       "ThingFact: amount[additive] status_code\n"},
      {"a status of an entity that fixes it",
       {{"customer_id", customer()}, {"gender", of_customer("g", 2)}, {"amount", amount(5)}},
       "ThingFact: amount[additive] customer_id\nCustomer = (customer_id) gender\n"},
      {"a number without a name for it, a part of a time, a zip code",
       {{"cluster", any("", 5, 1)},
        {"quarter", any("Q", 4, 2)},
        {"zip", any("0123", 9, 3)},
        {"amount", amount(5)}},
       "ThingFact: amount[additive] cluster quarter zip\n"},
      {"amounts and dates that would not cast; digits alone are codes",
       {{"fee",
         [](std::size_t row) { return fmt::format("1,{}.50", 200 + scattered(row, 1) % 9); }},
        {"opened",
         [](std::size_t row) { return fmt::format("{}/06/2026", 10 + scattered(row, 2) % 9); }},
        {"store", [](std::size_t row) { return fmt::format("00{}", scattered(row, 3) % 9); }},
        {"amount", amount(5)}},
       "ThingFact: amount[additive] fee opened store\nStore = (store)\n"},
      {"a number that is a grade",
       {{"grade", any("", 5, 1)}, {"amount", amount(5)}},
       "ThingFact: amount[additive] grade\nGrade = (grade)\n"},
      {"a unit that is a thing",
       {{"unit", any("SN-", 9, 1)}, {"amount", amount(5)}},
       "ThingFact: amount[additive] unit\nUnit = (unit)\n"},
  };
  expect_models(cases);
}

std::string roles(const Columns& columns) {
  const Model model = model_of(table(columns));
  std::set<std::string> roles;
  const auto add = [&](const Property& property) {
    roles.insert(fmt::format("{} {}", property.column, role_name(property.role)));
  };
  for (const ObjectType& type : model.types) {
    if (type.key) add(*type.key);
    std::ranges::for_each(type.properties, add);
  }
  return fmt::format("{}", fmt::join(roles, ", "));
}

/// A column has one role, in whatever types it is.
TEST(RulesTest, EntitiesShowWhatIsACodeAndWhatAName) {
  const struct {
    Columns columns;
    std::string roles;
  } cases[] = {
      // Codes and names that no name of a column says: the one has the other.
      {{{"carrier", any("K", 20, 1)}, {"carrier_name", customer_name()}, {"amount", amount(2)}},
       "amount measure, carrier identifier, carrier_name label"},
      {{{"sold_to", any("K", 20, 1)}, {"sold_to_city", customer_name()}, {"amount", amount(2)}},
       "amount measure, sold_to identifier, sold_to_city label"},
      {{{"customer_id", customer()}, {"customer", customer_name()}, {"amount", amount(2)}},
       "amount measure, customer label, customer_id identifier"},
      {{{"carrier", any("", 20, 1)}, {"carrier_name", customer_name()}, {"amount", amount(2)}},
       "amount measure, carrier category, carrier_name label"},
      // Shared by several of them it is no name; without a property a noun is no code.
      {{{"sold_to", any("K", 20, 1)}, {"sold_to_area", of_customer("a", 4)}, {"amount", amount(2)}},
       "amount measure, sold_to identifier, sold_to_area category"},
      {{{"depot", any("K", 20, 1)}, {"amount", amount(2)}}, "amount measure, depot category"},
      // Codes under no word for one, if they are many.
      {{{"probe", any("TH-", 60, 1)}, {"amount", amount(2)}}, "amount measure, probe identifier"},
      {{{"probe", any("TH ", 60, 1)}, {"amount", amount(2)}}, "amount measure, probe category"},
  };
  for (const auto& [columns, expected] : cases) EXPECT_EQ(roles(columns), expected);
}

TEST(RulesTest, S9WhatListsThings) {
  const Case cases[] = {
      {"neither amount nor time",
       {{"site_id", each("S")}, {"site_name", each("N ")}, {"region", any("r", 4, 1)}},
       "Region = (region)\nSite = (site_id) name region\n"},
      {"where it stands and when it opened tell of no event",
       {{"site_id", each("S")},
        {"site_name", each("N ")},
        {"latitude", amount(2)},
        {"opening_date", date()}},
       "Site = (site_id) latitude[non_additive] name opening_date\n"},
      {"codes and names of other stems, each once",
       {{"sku", each("S")}, {"product_name", each("N ")}, {"price", amount(2)}},
       "Product = (sku) name price[non_additive]\n"},
      {"codes without a word, called like the stream",
       {{"id", each("S")}, {"name", each("N ")}, {"price", amount(2)}},
       "Thing = (id) name price[non_additive]\n"},
      {"names without codes",
       {{"name", each("N ")}, {"region", any("r", 4, 1)}},
       "Region = (region)\nThing = (name) region\n"},
      {"so do how heavy it is and when it was launched",
       {{"site_id", each("S")},
        {"site_name", each("N ")},
        {"weight_g", amount(2)},
        {"launched_on", date()}},
       "Site = (site_id) launched_on name weight_g[additive]\n"},
      {"an amount makes it a fact",
       {{"site_id", each("S")}, {"site_name", each("N ")}, {"sales", amount(2)}},
       "SaleFact: sales[additive] site_id\nSite = (site_id) name\n"},
      {"so does the time of an event",
       {{"site_id", each("S")}, {"site_name", each("N ")}, {"audit_date", date()}},
       "ThingFact: audit_date site_id\nSite = (site_id) name\n"},
      {"rows without an own id are no things",
       {{"student_id", any("S", 30, 1)}, {"course_id", any("C", 30, 2)}},
       "ThingFact: course_id student_id\nCourse = (course_id)\nStudent = (student_id)\n"},
  };
  expect_models(cases);
}

TEST(RulesTest, S10WhatMayBeSummed) {
  const Maker fixed = [](std::size_t row) {
    return fmt::format("{}.5", 100 + 7 * (scattered(row, 1) % 20));
  };
  const Case cases[] = {
      {"by name",
       {{"stock_level", amount(1)},
        {"on_hand", amount(2)},
        {"unit_price", amount(3)},
        {"total_price", amount(4)},
        {"avg_delay", amount(5)},
        {"monthly_cost", amount(6)},
        {"delay", amount(7)}},
       "ThingFact: avg_delay[non_additive] delay[additive] monthly_cost[additive per_period] "
       "on_hand[semi_additive] stock_level[semi_additive] total_price[additive] "
       "unit_price[non_additive]\n"},
      {"minutes are no minimum, which has a maximum beside it",
       {{"running_time_min", amount(1)},
        {"wait_time_min", amount(2)},
        {"wait_time_max", amount(3)},
        {"rain_min", amount(4)}},
       "ThingFact: rain_min[non_additive] running_time_min[additive] wait_time_max[non_additive] "
       "wait_time_min[non_additive]\n"},
      {"an entity's own, told again in each row",
       {{"employee_id", any("E", 20, 1)}, {"salary", fixed}},
       "PayFact: employee_id salary[entity_level Employee]\nEmployee = (employee_id)\n"},
      {"of two entities the coarser",
       {{"employee_id", any("E", 20, 1)},
        {"grade", of("G", 20, 1, 4)},
        {"salary",
         [](std::size_t row) {
           return fmt::format("{}.5", 100 + scattered(scattered(row, 1) % 20, 99) % 4);
         }}},
       "PayFact: employee_id grade salary[entity_level Grade]\nEmployee = (employee_id)\n"
       "Grade = (grade)\nEmployee ~> Grade\n"},
      {"told once each, nothing says so",
       {{"employee_id", each("E")}, {"salary", amount(2)}},
       "EmployeeFact: (employee_id) salary[additive]\n"},
      {"units of constant columns",
       {{"currency", always("EUR")},
        {"weight_unit", always("kg")},
        {"unit", always("pcs")},
        {"uom", always("pallets")},
        {"weight", amount(1)},
        {"cost", amount(2)},
        {"volume", amount(3)}},
       "ThingFact: cost[additive EUR] currency unit uom volume[additive pcs] weight[additive kg] "
       "weight_unit\n"},
      {"a unit that is not constant is none",
       {{"currency", any("c", 3, 1)}, {"cost", amount(2)}},
       "ThingFact: cost[additive] currency\n"},
  };
  expect_models(cases);
}

TEST(RulesTest, FactsAreCalledAfterWhatTheirRowsAre) {
  const Maker order = [](std::size_t row) { return fmt::format("O{}", row / 4); };
  const Maker line = [](std::size_t row) { return std::to_string(1 + row % 4); };
  const Case cases[] = {
      {"lines of a header",
       {{"order_id", order}, {"line_no", line}, {"amount", amount(1)}},
       "OrderLineFact: amount[additive] line_no order_id\nOrder = (order_id)\n"},
      {"a running number of all rows counts no header's lines",
       {{"order_id", order},
        {"rec_no", [](std::size_t row) { return std::to_string(1 + row); }},
        {"amount", amount(1)}},
       "ThingFact: amount[additive] order_id rec_no\nOrder = (order_id)\n"},
      {"numbers that do not tell the lines of a header apart",
       {{"order_id", order},
        {"line_no", [](std::size_t row) { return std::to_string(1 + row % 2); }},
        {"amount", amount(1)}},
       "ThingFact: amount[additive] line_no order_id\nOrder = (order_id)\n"},
      {"their own id",
       {{"trip_id", each("t")}, {"pickup_time", date()}, {"pickup_fee", amount(1)}},
       "TripFact: (trip_id) pickup_fee[additive] pickup_time\n"},
      {"an id of nothing but a row; then the shared word",
       {{"row_id", each("t")}, {"audit_date", date()}, {"audit_mode", any("m", 3, 1)}},
       "AuditFact: (row_id) audit_date audit_mode\n"},
      {"a word that only measures share is none, nor is an entity's",
       {{"temp_max", amount(1)},
        {"temp_min", amount(2)},
        {"rain", amount(3)},
        {"snow", amount(4)},
        {"sun", amount(5)},
        {"customer_id", customer()},
        {"customer_date", date()}},
       "ThingFact: customer_date customer_id rain[additive] snow[additive] sun[additive] "
       "temp_max[non_additive] temp_min[non_additive]\nCustomer = (customer_id)\n"},
      {"what is measured", {{"voltage", amount(1)}}, "ReadingFact: voltage[non_additive]\n"},
      {"what is measured among much else",
       {{"us_sales", amount(1)}, {"budget", amount(2)}, {"votes", amount(3)}},
       "ThingFact: budget[additive] us_sales[additive] votes[additive]\n"},
  };
  expect_models(cases);
}

}  // namespace
}  // namespace strata::ontology
