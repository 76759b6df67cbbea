#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "cli/test_support.h"

namespace strata::cli {
namespace {

using testing::FakeServer;
using ::testing::HasSubstr;
using testing::header_of;
using testing::reply;
using testing::run_program;
using testing::TempFolder;

constexpr std::string_view kStream = "/knowledgebase/demo/strata/receivers/weather";
constexpr std::string_view kIngest = "/knowledgebase/demo/strata/ingest/weather";

/// Gives the same answers, one after the other; the last for ever.
struct Answers : FakeServer {
  explicit Answers(std::vector<http::ClientResponse> all) {
    answer = [all = std::move(all), next = std::size_t{0}](const http::ClientRequest&) mutable {
      const std::size_t now = std::min(next++, all.size() - 1);
      return all[now];
    };
  }
};

TEST(Rejects, EveryCommandHasHelpWithAnExample) {
  const std::vector<std::vector<std::string>> kCommands = {
      {"batch"},           {"batch", "list"},   {"batch", "show"},    {"rejects"},
      {"rejects", "list"}, {"rejects", "show"}, {"rejects", "resend"}};
  for (auto arguments : kCommands) {
    std::string name = "strata";
    for (const auto& word : arguments) name += " " + word;
    arguments.emplace_back("--help");
    Answers server({reply(500, "")});
    const auto result = run_program(server, {.arguments = arguments});
    EXPECT_EQ(result.exit_code, 0) << name;
    EXPECT_THAT(result.out, HasSubstr("Example:\n  " + name)) << name;
    EXPECT_TRUE(server.requests.empty());
  }
}

TEST(Rejects, AreListedPageByPage) {
  Answers server(
      {reply(200, R"({"rejects":[{"batch_id":"b1","state":"open","rejected_at":"t","bytes":9,)"
                  R"("error_count":2,"line":3,"reason":"no JSON"}],"next":"b1","dropped":0})")});
  const auto result = run_program(server, {.arguments = {"rejects", "list", "demo", "weather",
                                                         "--limit", "1", "--before", "b2"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(server.requests[0].target, std::string(kStream) + "/rejects?limit=1&before=b2");
  EXPECT_THAT(result.out, HasSubstr("b1"));
  EXPECT_THAT(result.out, HasSubstr("no JSON"));
  EXPECT_EQ(result.err, "strata: there are older ones: --before b1\n");
}

TEST(Rejects, AreShownLineByLineAndSafeForATerminal) {
  Answers server({reply(200, R"({"batch_id":"b1","state":"open","errors":[)"
                             R"({"line":3,"column":"p\u001b[2J","reason":"no number"}]})")});
  const auto result =
      run_program(server, {.arguments = {"rejects", "show", "demo", "weather", "b1"}});
  EXPECT_EQ(server.requests[0].target, std::string(kStream) + "/rejects/b1");
  EXPECT_THAT(result.out, HasSubstr("line 3, column p"));
  EXPECT_THAT(result.out, HasSubstr(": no number\n"));
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
}

TEST(Rejects, TheKeptBodyIsSentAgainUnderItsId) {
  Answers server({reply(200, "{\"a\":1}\n"), testing::problem(503, "Busy", "later"),
                  reply(200, R"({"batch_id":"b1","rows":1,"replayed":false})")});
  const auto result =
      run_program(server, {.arguments = {"rejects", "resend", "demo", "weather", "b1"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "1 row landed as batch b1\n");
  ASSERT_EQ(server.requests.size(), 3U);
  EXPECT_EQ(server.requests[0].target, std::string(kStream) + "/rejects/b1?body=1");
  for (const std::size_t post : {1U, 2U}) {
    EXPECT_EQ(server.requests[post].target, kIngest);
    EXPECT_EQ(server.requests[post].body, "{\"a\":1}\n");
    EXPECT_EQ(header_of(server.requests[post], "Idempotency-Key"), "b1");
  }
}

TEST(Rejects, AMendedFileIsSentInstead) {
  TempFolder folder;
  const std::string path = folder.file("mended.ndjson", "{\"a\":2}\n");
  Answers server({reply(200, R"({"batch_id":"b1","rows":1,"replayed":true})")});
  const auto result =
      run_program(server, {.arguments = {"rejects", "resend", "demo", "weather", "b1", path}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "nothing to do: batch b1 had landed (1 row)\n");
  ASSERT_EQ(server.requests.size(), 1U);
  EXPECT_EQ(server.requests[0].body, "{\"a\":2}\n");
}

TEST(Rejects, RefusedAgainSaysWhichLines) {
  Answers server({reply(400, R"({"title":"Refused","detail":"2 lines","errors":[)"
                             R"({"line":1,"reason":"no JSON"}],"error_count":2})")});
  const auto result = run_program(
      server,
      {.arguments = {"rejects", "resend", "demo", "weather", "b1", "-"}, .standard_input = "{"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("line 1: no JSON"));
  EXPECT_EQ(server.requests[0].body, "{");
}

TEST(Rejects, AnIdIsOnePartOfThePath) {
  Answers server({testing::problem(404, "Nothing is here", "no batch")});
  for (const char* command : {"batch", "rejects"}) {
    const auto result =
        run_program(server, {.arguments = {command, "show", "demo", "weather", "a/../b"}});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(server.requests.back().target, HasSubstr("/a%2F..%2Fb"));
  }
}

}  // namespace
}  // namespace strata::cli
