#include "ontology/testing/sample_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/check.h"
#include "ontology/synthesise.h"

namespace strata::ontology {
namespace {

using Cell = ProfiledRows::Cell;
using Row = ProfiledRows::Row;
using Names = std::vector<std::string>;

/// The standard fixes what this engine answers, on every machine; its distributions it does not.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::size_t below(std::size_t end) { return engine_() % end; }
  const std::string& of(const Names& names) { return names[below(names.size())]; }

 private:
  std::mt19937 engine_;
};

const Names kFirstNames = {"Ada",  "Bruno", "Carla", "Dario", "Elif", "Farid",
                           "Gita", "Hugo",  "Ines",  "Jonas", "Kofi", "Lena"};
const Names kLastNames = {"Almeida", "Berg", "Costa", "Dahl", "Egger"};
const Names kCities = {"Oslo", "Lyon", "Porto"};
const Names kCountries = {"NO", "FR", "PT", "DE", "IT", "ES"};

/// Sixty different ones.
std::string person(std::size_t number) {
  return fmt::format("{} {}", kFirstNames[number % kFirstNames.size()],
                     kLastNames[number % kLastNames.size()]);
}

Names numbered(std::string_view prefix, std::size_t count) {
  Names names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back(fmt::format("{}{:03}", prefix, i));
  return names;
}

std::string money(std::size_t cents) { return fmt::format("{}.{:02}", cents / 100, cents % 100); }

std::string day(std::size_t number) {
  return fmt::format("2026-{:02}-{:02}", 1 + number / 28 % 12, 1 + number % 28);
}

std::string moment(std::size_t number, std::size_t second) {
  return fmt::format("{}T{:02}:{:02}:{:02}Z", day(number), second / 3600 % 24, second / 60 % 60,
                     second % 60);
}

const Names kPayColumns = {"employee_id",   "employee_name", "department",
                           "location",      "pay_grade",     "employment_type",
                           "annual_salary", "bonus",         "pay_period"};

SampleStream pay(std::string name, std::size_t employees, std::size_t periods) {
  static const Names kDepartments = {"Engineering", "Sales", "Finance", "People", "Support"};
  static const Names kTypes = {"full_time", "full_time", "full_time", "part_time", "contract"};
  Dice dice(1);
  SampleStream stream{.name = std::move(name), .columns = kPayColumns};
  std::vector<Row> people;
  for (std::size_t i = 0; i < employees; ++i) {
    people.push_back({fmt::format("E{}", 1000 + 7 * i), person(i), dice.of(kDepartments),
                      dice.of(kCities), fmt::format("G{}", 3 + dice.below(4)), dice.of(kTypes),
                      money(5'000'000 + 5'000 * dice.below(900))});
  }
  for (std::size_t period = 0; period < periods; ++period) {
    for (Row row : people) {
      row.emplace_back(money(2'500 * dice.below(120)));
      row.emplace_back(fmt::format("2026-{:02}", 4 + period));
      stream.rows.push_back(std::move(row));
    }
  }
  return stream;
}

}  // namespace

SampleStream compensation() { return pay("compensation", 20, 3); }
SampleStream payroll_export() { return pay("payroll_export", 60, 1); }

SampleStream sensors() {
  Dice dice(2);
  const Names ids = numbered("sensor-", 12);
  SampleStream stream{.name = "sensors", .columns = {"ts", "sensor_id", "reading_celsius", "site"}};
  for (std::size_t i = 0; i < 500; ++i) {
    const std::size_t sensor = dice.below(ids.size());
    stream.rows.push_back({moment(i / 20, 60 * i), ids[sensor],
                           fmt::format("{}.{}", 15 + dice.below(15), dice.below(10)),
                           fmt::format("site-{}", sensor % 5)});
  }
  return stream;
}

SampleStream order_lines() {
  static const Names kStatus = {"open", "paid", "shipped"};
  static const Names kSegments = {"Gold", "Silver", "Basic"};
  static const Names kCategories = {"Tools", "Paint", "Garden", "Wood"};
  Dice dice(3);
  SampleStream stream{
      .name = "orders",
      .columns = {"order_id", "line_no", "order_date", "order_status", "customer_id",
                  "customer_name", "customer_segment", "sku", "product_name", "product_category",
                  "quantity", "unit_price", "line_total", "currency"}};
  for (std::size_t order = 0; order < 400; ++order) {
    const std::size_t customer = dice.below(55);
    const Row header = {fmt::format("O-{}", 7000 + order),
                        {},
                        day(dice.below(200)),
                        dice.of(kStatus),
                        fmt::format("C{}", 100 + customer),
                        person(customer),
                        kSegments[customer * 7 % 11 % 3]};
    const std::size_t lines = 1 + dice.below(5);
    for (std::size_t line = 0; line < lines; ++line) {
      const std::size_t product = dice.below(40);
      const std::size_t quantity = 1 + dice.below(9);
      const std::size_t price = 500 + 137 * product;
      Row row = header;
      row[1] = std::to_string(line + 1);
      const Row rest = {fmt::format("SKU-{:04}", 3 * product),
                        fmt::format("Thing {}", product),
                        kCategories[product * 5 % 7 % 4],
                        std::to_string(quantity),
                        money(price),
                        money(quantity * price),
                        "EUR"};
      row.insert(row.end(), rest.begin(), rest.end());
      stream.rows.push_back(std::move(row));
    }
  }
  return stream;
}

SampleStream orders() {
  static const Names kStatus = {"open", "paid", "shipped"};
  static const Names kSegments = {"Gold", "Silver", "Basic"};
  Dice dice(4);
  SampleStream stream{.name = "orders",
                      .columns = {"order_id", "order_date", "order_status", "customer_id",
                                  "customer_name", "customer_segment", "total_amount"}};
  for (std::size_t order = 0; order < 1'000; ++order) {
    const std::size_t customer = dice.below(58);
    stream.rows.push_back({std::to_string(90'000 + order), day(dice.below(200)), dice.of(kStatus),
                           fmt::format("C{}", 100 + customer), person(customer),
                           kSegments[customer * 7 % 11 % 3], money(100 + dice.below(90'000))});
  }
  return stream;
}

SampleStream telemetry() {
  Dice dice(5);
  SampleStream stream{.name = "telemetry",
                      .columns = {"ts", "device_id", "device_firmware", "gateway_id",
                                  "gateway_name", "temperature", "humidity"}};
  static const Names kFirmware = {"1.2.0", "1.3.1", "2.0.0"};
  for (std::size_t i = 0; i < 2'000; ++i) {
    const std::size_t device = dice.below(30);
    const std::size_t gateway = device % 6;
    stream.rows.push_back(
        {moment(i / 90, 15 * i), fmt::format("dev-{:03}", device), kFirmware[device * 5 % 7 % 3],
         fmt::format("gw-{}", gateway),
         fmt::format("Gateway {}", kLastNames[gateway % 5] + kCities[gateway % 3]),
         fmt::format("{}.{}", 10 + dice.below(20), dice.below(10)),
         fmt::format("{}.{}", 30 + dice.below(60), dice.below(10))});
  }
  return stream;
}

SampleStream clickstream() {
  static const Names kTypes = {"view", "click", "search", "buy"};
  Dice dice(6);
  SampleStream stream{
      .name = "clickstream",
      .columns = {"event_id", "event_time", "event_type", "user_id", "page_url", "country"}};
  for (std::size_t i = 0; i < 3'000; ++i) {
    const std::size_t user = dice.below(200);
    stream.rows.push_back({fmt::format("e{:06x}", 7919 * i), moment(i / 200, 31 * i),
                           dice.of(kTypes), std::to_string(5'000 + user),
                           fmt::format("/shop/{}", dice.below(45)),
                           kCountries[user * 5 % 13 % kCountries.size()]});
  }
  return stream;
}

SampleStream inventory_snapshots() {
  Dice dice(7);
  SampleStream stream{
      .name = "inventory_snapshots",
      .columns = {"snapshot_date", "warehouse_id", "sku", "stock_level", "unit_cost"}};
  for (std::size_t date = 0; date < 15; ++date) {
    for (std::size_t place = 0; place < 4; ++place) {
      for (std::size_t item = 0; item < 30; ++item) {
        stream.rows.push_back({day(date), fmt::format("WH{}", place + 1),
                               fmt::format("SKU-{:04}", 11 * item), std::to_string(dice.below(500)),
                               money(200 + dice.below(4'000))});
      }
    }
  }
  return stream;
}

SampleStream renamed(const SampleStream& stream,
                     const std::vector<std::pair<std::string, std::string>>& names) {
  SampleStream result{.name = stream.name};
  std::vector<std::size_t> from;
  for (const auto& [name, old] : names) {
    const auto found = std::ranges::find(stream.columns, old);
    STRATA_CHECK(found != stream.columns.end());
    result.columns.push_back(name);
    from.push_back(static_cast<std::size_t>(found - stream.columns.begin()));
  }
  for (const Row& row : stream.rows) {
    Row other;
    for (const std::size_t index : from) other.push_back(row[index]);
    result.rows.push_back(std::move(other));
  }
  return result;
}

SampleStream with_noise(SampleStream stream, const Noise& noise) {
  Dice dice(noise.seed);
  for (Row& row : stream.rows) {
    for (Cell& cell : row) {
      if (!cell || cell->empty()) continue;
      if (dice.below(100) < noise.typos_percent) {
        char& c = (*cell)[dice.below(cell->size())];
        if (c >= '0' && c <= '9') c = static_cast<char>('1' + dice.below(9));
        if (c >= 'a' && c <= 'z') c = static_cast<char>('a' + dice.below(26));
      }
      if (dice.below(100) < noise.nulls_percent) cell = "n/a";
    }
  }
  return stream;
}

}  // namespace strata::ontology
