#include "ontology/model.h"

#include <gtest/gtest.h>

namespace strata::ontology {
namespace {

TEST(ModelJsonTest, IsCanonical) {
  const Property key = {.id = "k",
                        .name = "airport",
                        .column = "dest \"A\"",
                        .more_columns = {"origin"},
                        .role = Role::kIdentifier,
                        .rules = {"S1", "S7"}};
  const Property measure = {.id = "m",
                            .name = "salary",
                            .column = "salary",
                            .role = Role::kMeasure,
                            .type = {.type = Type::kDecimal, .precision = 8, .scale = 2},
                            .additivity = Additivity::kEntityLevel,
                            .entity = "Employee",
                            .rate_per_period = true,
                            .unit = "EUR",
                            .rules = {"S10"}};
  const Model model{
      .types = {{.id = "f",
                 .name = "PayFact",
                 .kind = Kind::kFact,
                 .view = "pay_fact",
                 .properties = {measure}},
                {.id = "a", .name = "Airport", .view = "airport", .key = key, .rules = {"S1"}}},
      .links = {{.name = "origin",
                 .from = "PayFact",
                 .to = "Airport",
                 .column = "origin",
                 .status = Status::kSuggested,
                 .log10_luck = -28.5,
                 .rules = {"S7"}}}};
  EXPECT_EQ(to_json(model),
            R"({"types":[{"id":"f","name":"PayFact","kind":"fact","view":"pay_fact",)"
            R"("properties":[{"id":"m","name":"salary","column":"salary","role":"measure",)"
            R"j("type":"DECIMAL(8,2)","additivity":"entity_level","entity":"Employee",)j"
            R"("rate_per_period":true,"unit":"EUR","rules":["S10"]}],"rules":[]},)"
            R"({"id":"a","name":"Airport","kind":"dimension","view":"airport",)"
            R"("key":{"id":"k","name":"airport","column":"dest \"A\"","more_columns":["origin"],)"
            R"("role":"identifier","type":"VARCHAR","rules":["S1","S7"]},"properties":[],)"
            R"("rules":["S1"]}],"links":[{"name":"origin","from":"PayFact","to":"Airport",)"
            R"("column":"origin","status":"suggested","rules":["S7"]}]})");
}

}  // namespace
}  // namespace strata::ontology
