#include "api/accept.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace strata::api {
namespace {

constexpr std::string_view kOffered[] = {"application/json", "application/x-ndjson", "text/csv"};

TEST(Accept, TakesTheHighestWeightOfTheClosestRange) {
  struct Case {
    std::string_view accept;
    std::string_view chosen;  // empty: none
  };
  for (const auto& [accept, chosen] : std::vector<Case>{
           {"*/*", "application/json"},
           {"application/*", "application/json"},
           {"text/*", "text/csv"},
           {"text/csv", "text/csv"},
           {"TEXT/CSV; header=present", "text/csv"},
           {"text/csv, application/json", "text/csv"},
           {"application/x-ndjson,application/json", "application/x-ndjson"},
           {"application/json;q=0.5, text/csv;q=0.9", "text/csv"},
           {"application/json ; q=0.5 , text/csv ; Q=0.4", "application/json"},
           {"text/html, application/xml;q=0.9, */*;q=0.8", "application/json"},
           {"application/json;q=0, */*", "application/x-ndjson"},
           {"application/*;q=0.1, */*;q=0.5", "text/csv"},
           {"*/*;q=1, application/json;q=0.2, application/x-ndjson;q=0.3", "text/csv"},
           {"application/vnd.apache.parquet, text/csv;q=0.1", "text/csv"},
           {"text/csv;q=0.001", "text/csv"},
           {"text/csv;q=high", "text/csv"},
           {"text/csv;q=0", ""},
           {"*/*;q=0", ""},
           {"image/png", ""},
           {"application/vnd.apache.parquet", ""},
           {"text", ""},
           {",;,", ""},
           {"", ""}}) {
    const auto index = choose_media_type(accept, kOffered);
    EXPECT_EQ(index ? kOffered[*index] : "", chosen) << accept;
  }
}

}  // namespace
}  // namespace strata::api
