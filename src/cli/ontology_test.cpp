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

/// Gives the answers one after the other, the last for ever.
struct Answers : FakeServer {
  explicit Answers(std::vector<http::ClientResponse> all) {
    answer = [all = std::move(all), next = std::size_t{0}](const http::ClientRequest&) mutable {
      return all[std::min(next++, all.size() - 1)];
    };
  }
};

TEST(ApplyCommand, BeginsAJobAndSaysHowToWaitForIt) {
  Answers server({reply(202, R"({"job":"j1\u001b"})")});
  const ProgramRun run = run_program(server, {.arguments = {"apply", "demo", "pay"}});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(server.requests.at(0).method, "POST");
  EXPECT_EQ(server.requests.at(0).target, "/knowledgebase/demo/strata/receivers/pay/ontology");
  EXPECT_EQ(server.requests.at(0).body, "");
  EXPECT_EQ(run.out, "began job j1\\x1b: strata job show demo j1\\x1b --wait\n");
}

TEST(ApplyCommand, WaitsForTheEndAndSaysWhatCameOfIt) {
  const struct {
    std::string job;
    int exit_code;
    std::string out;
  } cases[] = {
      {R"({"job":"j1","state":"done","step":"Views","result":)"
       R"({"version":2,"unchanged":false,"rows":60,"views":["pay_fact","employee\u001b"]}})",
       0, "version 2: pay_fact, employee\\x1b\n"},
      {R"({"job":"j1","state":"done","step":"Views","result":)"
       R"({"version":2,"unchanged":true,"rows":60,"views":["pay_fact"]}})",
       0, "version 2 as before: pay_fact\n"},
      // Of a server that says less or otherwise, what there is.
      {R"({"job":"j1","state":"done","step":"Views","result":{"views":[1,"a"]}})", 0,
       "version : a\n"},
      {R"({"job":"j1","state":"failed","step":"Views","reason":"too many rows"})", 1,
       "job:    j1\nstate:  failed\nstep:   Views\nreason: too many rows\n"},
  };
  for (const auto& c : cases) {
    Answers server({reply(202, R"({"job":"j1"})"), reply(200, c.job)});
    const ProgramRun run = run_program(server, {.arguments = {"apply", "demo", "pay", "--wait"}});
    EXPECT_EQ(run.exit_code, c.exit_code) << c.job;
    EXPECT_EQ(run.out, c.out) << c.job;
    EXPECT_EQ(server.requests.at(1).target, "/knowledgebase/demo/strata/jobs/j1");
  }
}

TEST(ApplyCommand, TellsWhyItWasRefused) {
  Answers server({testing::problem(409, "Ontology is being applied", "job j0 is under way")});
  const ProgramRun run = run_program(server, {.arguments = {"apply", "demo", "pay", "--wait"}});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "strata: Ontology is being applied: job j0 is under way\n");
  EXPECT_EQ(server.requests.size(), 1U);
}

TEST(OntologyCommand, ShowsALineForEachType) {
  Answers server({reply(
      200, R"({"version":2,"object_types":[{"name":"PayFact","kind":"fact","view":"pay_fact_2",)"
           R"("stream":"pay","properties":[{"name":"bonus"},{"name":"period\u001b"},3]},)"
           R"({"name":"Grade","kind":"dimension","view":"grade","stream":"pay"},4],"links":[]})")});
  const ProgramRun run = run_program(server, {.arguments = {"ontology", "show", "demo"}});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(server.requests.at(0).target, "/knowledgebase/demo/strata/ontology");
  EXPECT_THAT(run.out, ::testing::HasSubstr("ontology.pay_fact_2"));
  EXPECT_THAT(run.out, ::testing::HasSubstr("bonus, period\\x1b"));
  EXPECT_EQ(std::ranges::count(run.out, '\x1b'), 0);
}

TEST(OntologyCommand, ListsVersionsWithWhatEachChanged) {
  const std::string answer =
      R"({"versions":[{"version":2,"state":"active","created_at":"2026-06-30T00:00:00Z",)"
      R"("job":"j1","added":["pay: Grade","pay: Team"],"removed":[],"changed":["pay: PayFact"]}]})";
  Answers server({reply(200, answer)});
  const ProgramRun run = run_program(server, {.arguments = {"ontology", "versions", "demo"}});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(server.requests.at(0).target, "/knowledgebase/demo/strata/ontology/versions");
  EXPECT_THAT(run.out, ::testing::HasSubstr("pay: Grade, pay: Team"));
  EXPECT_THAT(run.out, ::testing::HasSubstr("pay: PayFact"));
  const ProgramRun json =
      run_program(server, {.arguments = {"ontology", "versions", "demo", "--json"}});
  EXPECT_EQ(json.out, answer + "\n");
}

}  // namespace
}  // namespace strata::cli
