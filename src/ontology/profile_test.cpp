#include "ontology/profile.h"

#include <gtest/gtest.h>

namespace strata::ontology {
namespace {

TEST(ProfileJsonTest, IsCanonical) {
  const Profile profile{.table = "demo/stream:pay",
                        .rows = 3,
                        .columns = {{.column = "a \"b\"",
                                     .nulls = 1,
                                     .distinct = 2,
                                     .top_frequency = 1,
                                     .length_min = 4,
                                     .length_max = 5,
                                     .type = {.type = Type::kDecimal, .precision = 4, .scale = 2},
                                     .cast_ok = 1,
                                     .cast_fail = 1,
                                     .leading_zeros = false,
                                     .failed = {{"x\n", "b1"}},
                                     .top = {{"10.50", 1}, {"x\n", 1}},
                                     .masks = {{"9.9", 1}}}}};
  EXPECT_EQ(to_json(profile),
            R"({"table":"demo/stream:pay","rows":3,"columns":[{"column":"a \"b\"","nulls":1,)"
            R"("distinct":2,"top_frequency":1,"length_min":4,"length_max":5,)"
            R"("type":{"name":"DECIMAL","precision":4,"scale":2},"cast_ok":1,"cast_fail":1,)"
            R"("leading_zeros":false,"failed":[{"text":"x\n","batch":"b1"}],)"
            R"("top":[{"text":"10.50","count":1},{"text":"x\n","count":1}],)"
            R"("masks":[{"text":"9.9","count":1}]}]})");
}

}  // namespace
}  // namespace strata::ontology
