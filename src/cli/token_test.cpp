#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/test_support.h"

namespace strata::cli {
namespace {

using testing::FakeServer;
using testing::ProgramRun;

TEST(TokenCommand, PrintsTheTokenAloneAndTheRestBesideIt) {
  FakeServer server;
  server.answer = [](const http::ClientRequest&) {
    return testing::reply(201,
                          R"({"id":"0123456789ab","name":null,"scopes":["read:demo"],)"
                          R"("expires_at":"2026-09-27T00:00:00.000000Z","token":"strata_x_y"})");
  };
  const ProgramRun run = run_program(
      server, {.arguments = {"token", "create", "--scope", "read:demo", "--scope",
                             "ingest:demo/events", "--expires", "90d", "--name", "till"}});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, "strata_x_y\n");
  EXPECT_EQ(run.err,
            "token 0123456789ab, valid until 2026-09-27T00:00:00.000000Z. It is shown this once; "
            "keep it like a password.\n");
  ASSERT_EQ(server.requests.size(), 1u);
  EXPECT_EQ(server.requests[0].method, "POST");
  EXPECT_EQ(server.requests[0].target, "/tokens");
  EXPECT_EQ(server.requests[0].body,
            R"({"scopes":["read:demo","ingest:demo/events"],"expires":"90d","name":"till"})");
}

TEST(TokenCommand, RevokesByItsId) {
  FakeServer server;
  server.answer = [](const http::ClientRequest&) {
    return testing::reply(200, R"({"id":"0123456789ab","revoked":true})");
  };
  const ProgramRun run = run_program(server, {.arguments = {"token", "revoke", "0123456789ab"}});
  EXPECT_EQ(run.out, "revoked token 0123456789ab\n");
  EXPECT_EQ(server.requests.at(0).method, "DELETE");
  EXPECT_EQ(server.requests.at(0).target, "/tokens/0123456789ab");
}

TEST(TokenOnItsWay, IsToldWhereItLeavesThisMachineUnencrypted) {
  const std::string told = " unencrypted: whoever is on the way can read it\n";
  const struct {
    std::string url;
    bool warns;
  } cases[] = {
      {"http://127.0.0.1:8080", false},     {"http://localhost", false},
      {"http://[::1]:8080", false},         {"http://strata.example:8080", true},
      {"http://127.0.0.1.example:1", true}, {"http://localhost.example", true},
      {"http://[::2]:8080", true},
  };
  for (const auto& test : cases) {
    FakeServer server;
    server.answer = [](const http::ClientRequest&) {
      return testing::reply(200, R"({"knowledgebase":[]})");
    };
    const ProgramRun with = run_program(server, {.arguments = {"kb", "list", "--url", test.url},
                                                 .environment = {{"STRATA_TOKEN", "strata_1_s"}}});
    EXPECT_EQ(with.err, test.warns ? "strata: the token goes to " + test.url + told : "");
    const ProgramRun without =
        run_program(server, {.arguments = {"kb", "list", "--url", test.url}});
    EXPECT_EQ(without.err, "");
  }
}

}  // namespace
}  // namespace strata::cli
