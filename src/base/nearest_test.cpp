#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace strata {
namespace {

TEST(NearestName, FindsTheSlipAndNothingElse) {
  const std::vector<std::string> names{"weather", "movies", "orders"};
  EXPECT_EQ(nearest_name("wether", names), "weather");
  EXPECT_EQ(nearest_name("movie", names), "movies");
  EXPECT_EQ(nearest_name("Orders", names), "orders");
  EXPECT_EQ(nearest_name("WEATHER", names), "weather");
  EXPECT_EQ(nearest_name("sensors", names), std::nullopt);
  EXPECT_EQ(nearest_name("", names), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(100'000, 'x'), names), std::nullopt);
}

}  // namespace
}  // namespace strata
