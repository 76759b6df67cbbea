#include "ontology/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strata::ontology {
namespace {

TEST(NamesTest, SplitsAtCaseAndMarksAndWritesAbbreviationsOut) {
  const struct {
    std::string name;
    Words words;
  } cases[] = {
      {"employee_id", {"employee", "id"}},
      {"EmployeeID", {"employee", "id"}},
      {"HTTPStatusCode", {"http", "status", "code"}},
      {"Sub-Category (new)", {"sub", "category", "new"}},
      {"emp_nm", {"employee", "name"}},
      {"custNo", {"customer", "number"}},
      {"userid", {"user", "id"}},
      {"deptno", {"department", "number"}},
      // Words that only end like glued ones.
      {"paid", {"paid"}},
      {"grid", {"grid"}},
      {"casino", {"casino"}},
      {"address2", {"address2"}},
      {"größe_m", {"größe", "m"}},
      {"%", {}},
  };
  for (const auto& [name, words] : cases) EXPECT_EQ(words_of(name), words) << name;
}

TEST(NamesTest, StemIsWhatThingsAreCalled) {
  const struct {
    std::string name;
    Words stem;
  } cases[] = {
      {"employee_id", {"employee"}},
      {"employee_name", {"employee"}},
      {"emp_no", {"employee"}},
      {"id_customer", {"customer"}},
      {"product_sku", {"product"}},
      {"product_code_name", {"product"}},
      {"pay_grade", {"pay", "grade"}},
      {"departments", {"department"}},
      {"sales_rep_id", {"sales", "rep"}},
      {"sku", {"sku"}},
      {"iata", {"iata"}},
      // They only say that something has a code or a name.
      {"id", {}},
      {"code", {}},
      {"name", {}},
      {"first_name", {}},
      {"email", {}},
      // A part of a name is one before a label's word only.
      {"first_order", {"first", "order"}},
      {"last", {"last"}},
  };
  for (const auto& [name, stem] : cases) EXPECT_EQ(stem_of(words_of(name)), stem) << name;
}

TEST(NamesTest, Singular) {
  const std::pair<std::string, std::string> cases[] = {
      {"orders", "order"},    {"companies", "company"}, {"boxes", "box"},
      {"branches", "branch"}, {"statuses", "status"},   {"people", "person"},
      {"classes", "class"},   {"movies", "movie"},      {"houses", "house"},
      {"address", "address"}, {"status", "status"},     {"analysis", "analysis"},
      {"series", "series"},   {"gas", "gas"},           {"bus", "bus"},
      {"ties", "tie"},        {"ids", "ids"},           {"employee", "employee"},
  };
  for (const auto& [plural, singular_form] : cases) EXPECT_EQ(singular(plural), singular_form);
}

TEST(NamesTest, PropertiesLoseTheirEntitysName) {
  const struct {
    std::string column;
    Words stem;
    std::string name;
  } cases[] = {
      {"employee_name", {"employee"}, "name"},
      {"EmpHireDate", {"employee"}, "hire_date"},
      {"ord_dt", {"order"}, "date"},
      {"employee", {"employee"}, "employee"},
      {"employment_type", {"employee"}, "employment_type"},
      {"hire_dt", {"employee"}, "hire_dt"},
      {"name", {}, "name"},
  };
  for (const auto& [column, stem, name] : cases) EXPECT_EQ(name_below(column, stem), name);
}

TEST(NamesTest, NamesOfASetDiffer) {
  const std::string long_name(70, 'x');
  const std::string umlauts = std::string(62, 'x') + "ü";
  NameSet names(NameSet::Reserved::kAvoid);
  const std::pair<std::string, std::string> cases[] = {
      {"name", "name"},
      {"Name", "Name_2"},
      {"name", "name_3"},
      {"order", "order_2"},
      {"_batch_id", "_batch_id_2"},
      {"_strata_x", "_strata_x_2"},
      {"", "unnamed"},
      {long_name, std::string(63, 'x')},
      {long_name, std::string(61, 'x') + "_2"},
      {umlauts, std::string(62, 'x')},
  };
  for (const auto& [wanted, name] : cases) EXPECT_EQ(names.take(wanted, "_"), name);
  NameSet types(NameSet::Reserved::kAllow);
  EXPECT_EQ(types.take("Order", ""), "Order");
  EXPECT_EQ(types.take("Order", ""), "Order2");
}

TEST(NamesTest, WritesBothWays) {
  EXPECT_EQ(pascal_case({"pay", "grade"}), "PayGrade");
  EXPECT_EQ(snake_case({"pay", "grade"}), "pay_grade");
  EXPECT_EQ(pascal_case({"2nd", "grade"}), "2ndGrade");
}

}  // namespace
}  // namespace strata::ontology
