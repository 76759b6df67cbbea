#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cli/test_support.h"

namespace strata::cli {
namespace {

using testing::FakeServer;
using ::testing::HasSubstr;
using testing::reply;
using testing::run_program;

constexpr std::string_view kReceivers = "/knowledgebase/demo/strata/receivers";

std::string page(const std::string& problems, const std::string& counts, const std::string& numbers,
                 const std::string& next) {
  return R"({"stream":"s","problems":[)" + problems + R"(],"leftovers":[],)" + counts +
         R"(,"finished":0,"numbers":{)" + numbers + R"(},"next":)" + next + "}";
}

/// Gives the answers one after the other, the last for ever.
struct Answers : FakeServer {
  explicit Answers(std::vector<std::string> all) {
    answer = [all = std::move(all), next = std::size_t{0}](const http::ClientRequest&) mutable {
      return reply(200, all[std::min(next++, all.size() - 1)]);
    };
  }
};

testing::ProgramRun verify(FakeServer& server, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"verify", "demo"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(server, {.arguments = arguments});
}

TEST(Verify, EveryStreamOfTheKbPageByPage) {
  const std::string one = R"("files":1,"rows":2)";
  const std::string both = R"("files":2,"rows":4)";
  Answers server({R"({"receivers":[{"stream":"s"}]})", page("", one, both, R"("data/a")"),
                  page("", one, both, "null")});
  const auto result = verify(server);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "s: 2 batches and 4 rows looked at, no problem\n");
  ASSERT_EQ(server.requests.size(), 3U);
  EXPECT_EQ(server.requests[1].target, std::string(kReceivers) + "/s/verify");
  EXPECT_EQ(server.requests[1].body, R"({"quarantine":false})");
  EXPECT_EQ(server.requests[2].body, R"({"quarantine":false,"after":"data/a"})");
}

TEST(Verify, EachProblemIsALineAndExitsWith1) {
  const std::string problem =
      R"({"path":"data/a.parquet","kind":"damaged","reason":"r\u001b","done":"moved"})";
  const std::string none = R"("files":0,"rows":0)";
  Answers server({page(problem, none, none, "null")});
  const auto result = verify(server, {"s", "--quarantine"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out,
            "s/data/a.parquet: damaged: r\\x1b; moved\n"
            "s: 0 batches and 0 rows looked at, 1 problem\n");
  EXPECT_EQ(server.requests[0].body, R"({"quarantine":true})");
}

TEST(Verify, NumbersThatDifferAreAProblemOnlyWhenNothingLands) {
  const std::string seen = R"("files":1,"rows":1)";
  const std::string told = R"("files":2,"rows":2)";
  Answers still({page("", seen, told, "null"), page("", seen, told, "null")});
  const auto wrong = verify(still, {"s"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.out, HasSubstr("the receiver's numbers say 2 batches and 2 rows, there are 1 "
                                   "batch and 1 row\n"));
  Answers moving({page("", seen, told, "null"),
                  page("", R"("files":0,"rows":0)", R"("files":3,"rows":3)", "null")});
  const auto landing = verify(moving, {"s"});
  EXPECT_EQ(landing.exit_code, 0);
  EXPECT_THAT(landing.out, HasSubstr("(batches are landing)"));
}

}  // namespace
}  // namespace strata::cli
