#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/cli.h"
#include "cli/test_support.h"

namespace strata::cli {
namespace {

using testing::FakeServer;
using ::testing::HasSubstr;
using testing::header_of;
using testing::reply;
using testing::run_program;
using testing::TempFolder;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A server that gives every request this answer.
struct SameAnswer : FakeServer {
  explicit SameAnswer(http::ClientResponse response) {
    answer = [response](const http::ClientRequest&) { return response; };
  }
};

struct Unreachable : FakeServer {
  Unreachable() {
    answer = [](const http::ClientRequest&) { return testing::no_answer(); };
  }
};

constexpr std::string_view kAnswer =
    R"({"columns":[{"name":"city","type":"VARCHAR"},{"name":"n","type":"BIGINT"}],)"
    R"("rows":[["Berlin",2],[null,10]],"row_count":2,"truncated":false,"read":{}})";

TEST(Program, EveryCommandHasHelpWithAnExample) {
  const std::vector<std::vector<std::string>> kCommands = {{"status"},
                                                           {"kb"},
                                                           {"kb", "create"},
                                                           {"kb", "list"},
                                                           {"kb", "show"},
                                                           {"receiver"},
                                                           {"receiver", "create"},
                                                           {"receiver", "list"},
                                                           {"receiver", "show"},
                                                           {"send"},
                                                           {"receiver", "resync"},
                                                           {"kb", "delete"},
                                                           {"receiver", "set"},
                                                           {"receiver", "delete"},
                                                           {"query"}};
  for (auto arguments : kCommands) {
    std::string name = "strata";
    for (const auto& word : arguments) name += " " + word;
    arguments.emplace_back("--help");
    Unreachable server;
    const auto result = run_program(server, {.arguments = arguments});
    EXPECT_EQ(result.exit_code, 0) << name;
    EXPECT_THAT(result.out, HasSubstr("Example:\n  " + name)) << name;
    EXPECT_EQ(result.err, "");
  }
}

TEST(Program, WrongUsageIsTwo) {
  const std::vector<std::vector<std::string>> kCases = {
      {},
      {"nothing"},
      {"kb"},
      {"kb", "create"},
      {"kb", "delete", "demo"},
      {"receiver", "set", "demo", "weather"},
      {"receiver", "delete", "demo", "weather"},
      {"status", "extra"},
      {"query", "demo"},
      {"query", "demo", "SELECT 1", "--format", "xml"},
      {"query", "demo", "SELECT 1", "--max-rows", "1000001"},
      {"send", "demo", "weather", "--format", "xml"},
      {"send", "demo", "weather", "--batch-rows", "0"},
      {"receiver", "create", "demo", "weather", "--partition", "year"},
      {"status", "--token-file", "/nowhere/at/all"}};
  for (const auto& arguments : kCases) {
    Unreachable server;
    const auto result = run_program(server, {.arguments = arguments});
    EXPECT_EQ(result.exit_code, 2) << ::testing::PrintToString(arguments);
    EXPECT_NE(result.err, "");
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(server.requests.empty());
  }
}

TEST(Program, ANumberOutOfRangeIsToldItsRangeInDigits) {
  Unreachable server;
  const auto result =
      run_program(server, {.arguments = {"send", "demo", "weather", "--batch-rows", "0"}});
  EXPECT_THAT(result.err, HasSubstr("0 not in range 1 to 1000000000"));
}

TEST(Program, OutOfReachIsThree) {
  const std::vector<std::vector<std::string>> kCases = {
      {"status"},
      {"kb", "create", "demo"},
      {"kb", "list"},
      {"kb", "show", "demo"},
      {"receiver", "create", "demo", "weather"},
      {"receiver", "list", "demo"},
      {"receiver", "show", "demo", "weather"},
      {"receiver", "resync", "demo", "weather"},
      {"receiver", "set", "demo", "weather", "--any-columns"},
      {"receiver", "delete", "demo", "weather", "--yes"},
      {"kb", "delete", "demo", "--yes"},
      {"query", "demo", "SELECT 1"},
      {"query", "demo", "SELECT 1", "--format", "csv"}};
  for (const auto& arguments : kCases) {
    Unreachable server;
    const auto result = run_program(server, {.arguments = arguments});
    EXPECT_EQ(result.exit_code, 3) << ::testing::PrintToString(arguments);
    EXPECT_EQ(result.err,
              "strata: no Strata answers at http://127.0.0.1:8080: is it running? start it with: "
              "make run (or strata serve)\n  connection refused\n");
    EXPECT_EQ(server.requests.size(), 1U);
  }
}

TEST(Program, RefusedIsOneWithTheReason) {
  const std::vector<std::vector<std::string>> kCases = {
      {"kb", "create", "demo"},
      {"kb", "list"},
      {"kb", "show", "demo"},
      {"receiver", "create", "demo", "weather"},
      {"receiver", "list", "demo"},
      {"receiver", "show", "demo", "weather"},
      {"receiver", "resync", "demo", "weather"},
      {"query", "demo", "SELECT 1"},
      {"query", "demo", "SELECT 1", "--format", "ndjson"}};
  for (const auto& arguments : kCases) {
    SameAnswer server(testing::problem(404, "Unknown knowledgebase", "did you mean 'dem'?"));
    const auto result = run_program(server, {.arguments = arguments});
    EXPECT_EQ(result.exit_code, 1) << ::testing::PrintToString(arguments);
    EXPECT_EQ(result.err, "strata: Unknown knowledgebase: did you mean 'dem'?\n");
    EXPECT_EQ(result.out, "");
  }
}

TEST(Program, A500ShowsItsRequestIdAndAStrangersAnswerIsCalledOne) {
  SameAnswer broken(
      reply(500, R"({"title":"Internal error","detail":"our bug","request_id":"r-17"})"));
  EXPECT_EQ(run_program(broken, {.arguments = {"kb", "list"}}).err,
            "strata: Internal error: our bug (request r-17)\n");
  SameAnswer stranger(reply(403, "<html>go away</html>"));
  EXPECT_EQ(run_program(stranger, {.arguments = {"kb", "list"}}).err,
            "strata: status 403 without a reason: is this a Strata server?\n");
  SameAnswer polite(reply(200, "<html>welcome</html>"));
  const auto result = run_program(polite, {.arguments = {"kb", "list"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "strata: the answer is not a JSON object: is this a Strata server?\n");
}

TEST(Program, WhereAndWho) {
  TempFolder folder;
  const std::string token_file = folder.file("token", "strata_1_filesecret\n");
  struct Case {
    std::vector<std::string> options;
    std::map<std::string, std::string> environment;
    std::string url;
    std::string authorization;
  };
  const Case kCases[] = {
      {{}, {}, "http://127.0.0.1:8080", ""},
      {{}, {{"STRATA_URL", "http://h:1/"}}, "http://h:1", ""},
      {{"--url", "http://i:2"}, {{"STRATA_URL", "http://h:1"}}, "http://i:2", ""},
      {{}, {{"STRATA_TOKEN", "strata_1_s"}}, "http://127.0.0.1:8080", "Bearer strata_1_s"},
      {{"--token-file", token_file},
       {{"STRATA_TOKEN", "strata_1_s"}},
       "http://127.0.0.1:8080",
       "Bearer strata_1_filesecret"},
  };
  const std::string data = folder.file("a.ndjson", "{}\n");
  const std::vector<std::vector<std::string>> kCommands = {
      {"status"}, {"kb", "list"}, {"query", "demo", "SELECT 1"}, {"send", "demo", "s", data}};
  for (const Case& test : kCases) {
    for (auto arguments : kCommands) {
      arguments.insert(arguments.end(), test.options.begin(), test.options.end());
      SameAnswer server(testing::problem(401, "No", "token"));
      const auto result =
          run_program(server, {.arguments = arguments, .environment = test.environment});
      EXPECT_EQ(result.exit_code, 1) << ::testing::PrintToString(arguments) << result.err;
      EXPECT_EQ(server.urls, std::vector<std::string>{test.url});
      EXPECT_EQ(header_of(server.requests.at(0), "Authorization"), test.authorization);
    }
  }
}

TEST(Program, ATokenCannotSmuggleAHeader) {
  SameAnswer server(reply(200, "{}"));
  const auto result = run_program(
      server,
      {.arguments = {"kb", "list"}, .environment = {{"STRATA_TOKEN", "strata_1\r\nHost: x"}}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "strata: STRATA_TOKEN holds no token: it is one word that begins strata_\n");
  EXPECT_TRUE(server.requests.empty());
}

TEST(Status, Answers) {
  SameAnswer ready(reply(200, R"({"ready":true,"reasons":[],"probe":{}})"));
  auto result = run_program(ready, {.arguments = {"status"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "ready\n");
  EXPECT_EQ(ready.requests.at(0).target, "/readyz");

  SameAnswer degraded(reply(503, R"({"ready":false,"reasons":["disk failed","no worker"]})"));
  result = run_program(degraded, {.arguments = {"status"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "strata: not ready\n  disk failed\n  no worker\n");

  result = run_program(degraded, {.arguments = {"status", "--json"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "{\"ready\":false,\"reasons\":[\"disk failed\",\"no worker\"]}\n");
}

TEST(Kb, CreateListShow) {
  SameAnswer made(reply(201, R"({"id":"demo","backend":"file"})"));
  auto result = run_program(made, {.arguments = {"kb", "create", "demo"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "made knowledgebase demo\n");
  EXPECT_EQ(made.requests.at(0).method, "POST");
  EXPECT_EQ(made.requests.at(0).target, "/knowledgebase");
  EXPECT_EQ(made.requests.at(0).body, R"({"id":"demo","backend":"file"})");
  EXPECT_EQ(header_of(made.requests.at(0), "Content-Type"), "application/json");

  SameAnswer list(reply(200, R"({"knowledgebase":[{"id":"demo","backend":"file"},{"id":"b"}]})"));
  EXPECT_EQ(run_program(list, {.arguments = {"kb", "list"}}).out,
            " id   | backend\n------+---------\n demo | file\n b    | -\n");
  SameAnswer none(reply(200, R"({"knowledgebase":[]})"));
  EXPECT_EQ(run_program(none, {.arguments = {"kb", "list"}}).out, "none yet\n");
  EXPECT_EQ(run_program(none, {.arguments = {"kb", "list", "--json"}}).out,
            "{\"knowledgebase\":[]}\n");

  SameAnswer show(reply(200, R"({"id":"demo","settings":{"time_zone":"UTC"}})"));
  EXPECT_EQ(run_program(show, {.arguments = {"kb", "show", "a/b"}}).out,
            "id:                 demo\nsettings.time_zone: UTC\n");
  EXPECT_EQ(show.requests.at(0).target, "/knowledgebase/a%2Fb");
}

TEST(Kb, Migrate) {
  SameAnswer moved(reply(202, R"({"job":"j1","state":"done"})"));
  const auto result =
      run_program(moved, {.arguments = {"kb", "migrate", "demo", "--backend", "postgres"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "the catalog of demo is in postgres\n");
  EXPECT_EQ(moved.requests.at(0).method, "POST");
  EXPECT_EQ(moved.requests.at(0).target, "/knowledgebase/demo/migrate");
  EXPECT_EQ(moved.requests.at(0).body, R"({"backend":"postgres"})");
  EXPECT_EQ(moved.requests.at(1).target, "/knowledgebase/demo/strata/jobs/j1");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"kb", "migrate", "demo"},
        std::vector<std::string>{"kb", "migrate", "demo", "--backend", "file"}}) {
    EXPECT_EQ(run_program(moved, {.arguments = arguments}).exit_code, 2);
  }
  EXPECT_EQ(moved.requests.size(), 2U);
}

TEST(Receiver, CreateListShowResync) {
  const std::string receiver =
      R"({"stream":"weather","columns":null,"view":{"name":"v","state":"ready"},"rows":1234,)"
      R"("files":2,"bytes":99,"last_landed":null,"rejected":0,"ingest_url":"http://h/i"})";
  SameAnswer made(reply(201, receiver));
  auto result =
      run_program(made, {.arguments = {"receiver", "create", "--columns", "a,b c", "demo",
                                       "weather", "--partition", "day", "--max-body", "2000"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "made receiver weather\nsend to it: strata send demo weather FILE\n");
  EXPECT_EQ(made.requests.at(0).target, "/knowledgebase/demo/strata/receivers");
  EXPECT_EQ(
      made.requests.at(0).body,
      R"({"stream":"weather","columns":["a","b c"],"partition":"day","max_body_bytes":2000})");

  SameAnswer same(reply(200, receiver));
  result = run_program(same, {.arguments = {"receiver", "create", "demo", "weather"}});
  EXPECT_EQ(result.out,
            "nothing to do: there is such a receiver weather\nsend to it: strata send demo weather "
            "FILE\n");
  EXPECT_EQ(same.requests.at(0).body, R"({"stream":"weather"})");

  SameAnswer list(reply(200, R"({"receivers":[)" + receiver + "]}"));
  EXPECT_EQ(run_program(list, {.arguments = {"receiver", "list", "demo"}}).out,
            " stream  | rows | files | bytes | rejected | last_landed | view.state\n"
            "---------+------+-------+-------+----------+-------------+------------\n"
            " weather | 1234 |     2 |    99 |        0 | -           | ready\n");

  SameAnswer show(reply(200, receiver));
  result = run_program(show, {.arguments = {"receiver", "show", "demo", "weather"}});
  EXPECT_THAT(result.out, HasSubstr("columns:     -\nview.name:   v\nview.state:  ready\n"));
  EXPECT_EQ(show.requests.at(0).target, "/knowledgebase/demo/strata/receivers/weather");

  SameAnswer broken(reply(200, R"({"view":{"name":"v","state":"error","reason":"x"}})"));
  result = run_program(broken, {.arguments = {"receiver", "resync", "demo", "weather"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "view.name:   v\nview.state:  error\nview.reason: x\n");
  EXPECT_EQ(result.err, "strata: the view of weather could not be made\n");
  EXPECT_EQ(broken.requests.at(0).method, "POST");
  EXPECT_EQ(broken.requests.at(0).target, "/knowledgebase/demo/strata/receivers/weather/resync");
  SameAnswer resync(reply(200, R"({"view":{"name":"v","state":"ready"}})"));
  result = run_program(resync, {.arguments = {"receiver", "resync", "demo", "weather"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "view.name:  v\nview.state: ready\n");
}

TEST(Query, TableAndJson) {
  SameAnswer server(reply(200, std::string(kAnswer)));
  auto result = run_program(server, {.arguments = {"query", "demo", "SELECT '\"'"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, " city   |  n\n--------+----\n Berlin |  2\n NULL   | 10\n(2 rows)\n");
  const auto& request = server.requests.at(0);
  EXPECT_EQ(request.target, "/knowledgebase/demo/strata/query");
  EXPECT_EQ(request.body, R"({"sql":"SELECT '\"'"})");
  EXPECT_EQ(header_of(request, "Accept"), "application/json");

  result = run_program(server, {.arguments = {"query", "demo", "SELECT 1", "--format", "json",
                                              "--max-rows", "5", "--timeout", "3"}});
  EXPECT_EQ(result.out, std::string(kAnswer) + "\n");
  EXPECT_EQ(server.requests.at(1).body, R"({"sql":"SELECT 1","max_rows":5,"timeout_ms":3000})");
}

TEST(Query, ACutAnswerIsOneAndSaysSo) {
  std::string cut(kAnswer);
  cut.replace(cut.find("false"), 5, "true");
  const std::string told =
      "strata: the answer is cut: it is not whole. Ask for less, or for more rows with --max-rows "
      "(at most 1000000)\n";
  SameAnswer server(reply(200, cut));
  auto result = run_program(server, {.arguments = {"query", "demo", "SELECT 1"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("(2 rows, cut: there are more)\n"));
  EXPECT_EQ(result.err, told);
  result = run_program(server, {.arguments = {"query", "demo", "SELECT 1", "--format", "json"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, cut + "\n");

  SameAnswer streamed(reply(200, "", {{"Strata-Truncated", "rows"}}));
  streamed.pieces = {"a\n1\n"};
  result = run_program(streamed, {.arguments = {"query", "demo", "SELECT 1", "--format", "csv"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "a\n1\n");
  EXPECT_EQ(result.err, told);
}

TEST(Query, CsvAndNdjsonPassTheServersBytes) {
  for (const auto& [format, accept] :
       {std::pair("csv", "text/csv"), std::pair("ndjson", "application/x-ndjson")}) {
    SameAnswer server(reply(200, ""));
    server.pieces = {"a,b\r", "\n1,\x1b\r\n", ""};
    const auto result =
        run_program(server, {.arguments = {"query", "demo", "SELECT 1", "--format", format}});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.out, "a,b\r\n1,\x1b\r\n");
    EXPECT_EQ(header_of(server.requests.at(0), "Accept"), accept);
  }
}

TEST(Query, AnAnswerThatBreaksOffIsNeverTakenForAWholeOne) {
  TempFolder folder;
  const std::string path = folder.path("out");
  Unreachable aborted;
  aborted.pieces = {"a\n", "1\n"};
  auto result = run_program(
      aborted, {.arguments = {"query", "demo", "SELECT 1", "--format", "csv", "-o", path}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "strata: the answer broke off: it is not whole: connection refused\n");
  EXPECT_FALSE(std::filesystem::exists(path));

  const std::vector<std::vector<std::string>> kEndings = {
      {"{\"a\":1}\n{\"_strata_error\":\"x\"}\n"},
      {"{\"a\":1}\n{\"_str", "ata_error\":\"x\"}", "\n"},
      {"{\"a\":1}\n", "{\"_strata_error\":\"x\"}"},
      {"{\"a\":1}", "\n", "{\"_strata_error\":\"x\"}\n"}};
  for (const auto& pieces : kEndings) {
    SameAnswer failed(reply(200, ""));
    failed.pieces = pieces;
    result = run_program(
        failed, {.arguments = {"query", "demo", "SELECT 1", "--format", "ndjson", "-o", path}});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("broke off: it is not whole: {\"_strata_error\":\"x\"}"));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  SameAnswer honest(reply(200, ""));
  honest.pieces = {"{\"_strata_error\":\"a cell\"}\n{\"a\":1}\n"};
  EXPECT_EQ(run_program(honest, {.arguments = {"query", "demo", "SELECT 1", "--format", "ndjson"}})
                .exit_code,
            0);
  SameAnswer half(reply(200, R"({"columns":[],"rows":[[)"));
  EXPECT_EQ(run_program(half, {.arguments = {"query", "demo", "SELECT 1"}}).exit_code, 1);
}

TEST(Query, ToAFile) {
  TempFolder folder;
  const std::string path = folder.file("out.csv", "older");
  const std::vector<std::string> arguments{"query", "demo", "SELECT 1", "--format",
                                           "csv",   "-o",   path};
  SameAnswer refused(testing::problem(400, "SQL error", "no such column"));
  EXPECT_EQ(run_program(refused, {.arguments = arguments}).exit_code, 1);
  EXPECT_EQ(read_file(path), "older");
  SameAnswer server(reply(200, ""));
  server.pieces = {"a\n1\n"};
  const auto result = run_program(server, {.arguments = arguments});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(read_file(path), "a\n1\n");

  // An answer that breaks off leaves the older file, and nothing beside it.
  Unreachable aborted;
  aborted.pieces = {"a\n", "2\n"};
  EXPECT_EQ(run_program(aborted, {.arguments = arguments}).exit_code, 1);
  EXPECT_EQ(read_file(path), "a\n1\n");
  // So does one that is cut, unless the cut was asked for.
  SameAnswer cut(reply(200, "", {{"Strata-Truncated", "true"}}));
  cut.pieces = {"a\n3\n"};
  const auto told = run_program(cut, {.arguments = arguments});
  EXPECT_EQ(told.exit_code, 1);
  EXPECT_THAT(told.err, HasSubstr("it is not whole, so nothing was written."));
  EXPECT_EQ(read_file(path), "a\n1\n");
  auto asked = arguments;
  asked.insert(asked.end(), {"--max-rows", "1"});
  EXPECT_EQ(run_program(cut, {.arguments = asked}).exit_code, 1);
  EXPECT_EQ(read_file(path), "a\n3\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path("")), {}), 1);

  const auto nowhere =
      run_program(server, {.arguments = {"query", "demo", "SELECT 1", "--format", "csv", "-o",
                                         folder.path("no/such/folder")}});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot be written: No such file or directory"));
}

}  // namespace
}  // namespace strata::cli
