#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/test_support.h"

namespace strata::cli {
namespace {

using testing::FakeServer;
using testing::ProgramRun;
using testing::reply;

std::string job(const std::string& state, const std::string& step) {
  return R"({"job":"j1","kind":"migrate","state":")" + state + R"(","step":")" + step +
         R"(","progress":0.5})";
}

/// Gives the answers one after the other, the last for ever.
struct Answers : FakeServer {
  explicit Answers(std::vector<http::ClientResponse> all) {
    answer = [all = std::move(all), next = std::size_t{0}](const http::ClientRequest&) mutable {
      return all[std::min(next++, all.size() - 1)];
    };
  }
};

TEST(JobCommand, ListsAPageAndSaysHowToSeeTheNext) {
  Answers server({reply(200, R"({"jobs":[)" + job("done", "Views") + R"(],"next":"j1"})")});
  const ProgramRun run =
      run_program(server, {.arguments = {"job", "list", "demo", "--limit", "1", "--before", "j2"}});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(server.requests.at(0).target, "/knowledgebase/demo/strata/jobs?limit=1&before=j2");
  EXPECT_THAT(run.out, ::testing::HasSubstr("migrate"));
  EXPECT_EQ(run.err, "strata: there are older ones: --before j1\n");
}

TEST(JobCommand, ShowsOneAsItIsWhateverItsState) {
  Answers server({reply(200, job("failed", "Match"))});
  const ProgramRun run = run_program(server, {.arguments = {"job", "show", "demo", "j1"}});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(server.requests.at(0).target, "/knowledgebase/demo/strata/jobs/j1");
  EXPECT_EQ(run.out,
            "job:      j1\n"
            "kind:     migrate\n"
            "state:    failed\n"
            "step:     Match\n"
            "progress: 0.5\n");
}

TEST(JobCommand, WaitsForTheEndTellingEachStepOnce) {
  const struct {
    std::string end;
    int exit_code;
  } cases[] = {{"done", 0}, {"failed", 1}, {"cancelled", 1}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.end);
    Answers server({reply(200, job("queued", "")), reply(200, job("running", "Copy\\u001b")),
                    testing::problem(503, "A read or write failed", "again"),
                    reply(200, job("running", "Copy\\u001b")), reply(200, job("running", "Views")),
                    reply(200, job(c.end, "Views"))});
    const ProgramRun run =
        run_program(server, {.arguments = {"job", "show", "demo", "j1", "--wait", "--json"}});
    EXPECT_EQ(run.exit_code, c.exit_code);
    EXPECT_EQ(run.out, job(c.end, "Views") + "\n");
    EXPECT_EQ(run.err, "Copy\\x1b\nViews\n");
    EXPECT_EQ(server.requests.size(), 6U);
    EXPECT_EQ(run.slept, std::chrono::seconds(5));
  }
}

TEST(JobCommand, WaitingEndsWhereTheServerRefusesOrStaysUnable) {
  const struct {
    int status;
    std::size_t requests;
  } cases[] = {{404, 1}, {503, 61}};
  for (const auto& c : cases) {
    Answers server({testing::problem(c.status, "No", "why")});
    const ProgramRun run =
        run_program(server, {.arguments = {"job", "show", "demo", "j1", "--wait"}});
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.err, "strata: No: why\n");
    EXPECT_EQ(server.requests.size(), c.requests);
  }
}

TEST(JobCommand, AsksAJobToStop) {
  Answers server({reply(202, job("running", "Copy"))});
  const ProgramRun run = run_program(server, {.arguments = {"job", "cancel", "demo", "j1"}});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, "asked job j1 to stop; it is running\n");
  EXPECT_EQ(server.requests.at(0).method, "DELETE");
  EXPECT_EQ(server.requests.at(0).target, "/knowledgebase/demo/strata/jobs/j1");
}

}  // namespace
}  // namespace strata::cli
