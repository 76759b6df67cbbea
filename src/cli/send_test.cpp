#include "cli/send.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/sha256.h"
#include "cli/test_support.h"

namespace strata::cli {
namespace {

using testing::FakeServer;
using ::testing::HasSubstr;
using testing::header_of;
using ::testing::Not;
using testing::ProgramRun;
using testing::reply;
using testing::run_program;
using testing::TempFolder;

// Lands every id once, as a Strata does, and keeps what landed by id.
struct LandingServer : FakeServer {
  std::map<std::string, std::string> landed;

  LandingServer() {
    answer = [this](const http::ClientRequest& request) -> Result<http::ClientResponse> {
      return land(request);
    };
  }
  http::ClientResponse land(const http::ClientRequest& request) {
    const std::string id = header_of(request, "Idempotency-Key");
    const auto rows = std::count(request.body.begin(), request.body.end(), '\n');
    const auto [place, is_new] = landed.emplace(id, request.body);
    if (place->second != request.body) {
      return testing::problem(422, "Batch id reused", "same id, other content");
    }
    return reply(200, R"({"batch_id":")" + id + R"(","rows":)" + std::to_string(rows) +
                          R"(,"replayed":)" + (is_new ? "false}" : "true}"));
  }
  std::string all() const {
    std::string text;
    for (const auto& [id, body] : landed) text += body;
    return text;
  }
};

std::string many_records(int count) {
  std::string text;
  for (int index = 0; index < count; ++index) {
    text += R"({"n":)" + std::to_string(index) + R"(,"filler":")" + std::string(80, 'x') + "\"}\n";
  }
  return text;
}

ProgramRun send(FakeServer& server, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"send", "demo", "weather"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(server, {.arguments = arguments});
}

TEST(Send, OneBatch) {
  TempFolder folder;
  LandingServer server;
  const auto result = send(server, {folder.file("a.ndjson", "{\"a\":1}\r\n\n{\"a\":2}")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "2 rows landed in 1 batch, 0 batches replayed (0 rows), 0 batches refused, 0.00 s\n");
  EXPECT_EQ(result.err, "");
  ASSERT_EQ(server.requests.size(), 1U);
  const auto& request = server.requests[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/knowledgebase/demo/strata/ingest/weather");
  EXPECT_EQ(header_of(request, "Content-Type"), "application/x-ndjson");
  EXPECT_EQ(header_of(request, "Idempotency-Key"),
            sha256_hex("{\"a\":1}\r\n\n{\"a\":2}").substr(0, 16) + "-000000");
  EXPECT_EQ(request.body, "{\"a\":1}\n{\"a\":2}\n");
}

TEST(Send, ASecondRunAddsNothing) {
  TempFolder folder;
  LandingServer server;
  const std::string text = many_records(20'000);
  const std::string path = folder.file("many.ndjson", text);
  const auto first = send(server, {path});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out,
            "20,000 rows landed in 4 batches, 0 batches replayed (0 rows), 0 batches refused, "
            "0.00 s\n");
  EXPECT_THAT(first.err, HasSubstr("several batches are not one transaction"));
  EXPECT_TRUE(server.all() == text);

  const auto second = send(server, {path, "--parallel", "1"});
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_EQ(second.out,
            "0 rows landed in 0 batches, 4 batches replayed (20,000 rows), 0 batches refused, "
            "0.00 s\n");
  EXPECT_EQ(server.landed.size(), 4U);
}

TEST(Send, AnotherRunNameOrBatchSizeHasIdsOfItsOwn) {
  TempFolder folder;
  LandingServer server;
  const std::string path = folder.file("a.ndjson", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
  EXPECT_EQ(send(server, {path}).exit_code, 0);
  EXPECT_EQ(send(server, {path, "--run", "again"}).exit_code, 0);
  EXPECT_EQ(send(server, {path, "--batch-rows", "2"}).exit_code, 0);
  EXPECT_EQ(send(server, {path, "--batch-rows", "1"}).exit_code, 0);
  EXPECT_EQ(server.landed.size(), 1U + 1U + 2U + 3U);
  EXPECT_EQ(send(server, {path, "--run", "a\nb"}).exit_code, 2);
}

TEST(Send, ConnectionsAreAsManyAsBatchesAtMost) {
  TempFolder folder;
  LandingServer server;
  const std::string path = folder.file("a.ndjson", many_records(100));
  EXPECT_EQ(send(server, {path, "--batch-rows", "1", "--parallel", "16"}).exit_code, 0);
  EXPECT_EQ(server.urls.size(), 16U);
  EXPECT_EQ(server.landed.size(), 100U);
  EXPECT_TRUE(server.all() == many_records(100));
  server.urls.clear();
  EXPECT_EQ(send(server, {path}).exit_code, 0);
  EXPECT_EQ(server.urls.size(), 1U);
  EXPECT_EQ(send(server, {path, "--parallel", "17"}).exit_code, 2);
  EXPECT_EQ(send(server, {path, "--parallel", "0"}).exit_code, 2);
}

TEST(Send, StandardInputIsTheSameAsAFile) {
  TempFolder folder;
  LandingServer server;
  const std::string text = many_records(20'000);
  EXPECT_EQ(send(server, {folder.file("a.ndjson", text)}).exit_code, 0);
  for (const std::vector<std::string>& file : {std::vector<std::string>{}, {"-"}}) {
    std::vector<std::string> arguments{"send", "demo", "weather"};
    arguments.insert(arguments.end(), file.begin(), file.end());
    const auto result = run_program(server, {.arguments = arguments, .standard_input = text});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("4 batches replayed (20,000 rows)"));
  }
}

TEST(Send, Csv) {
  TempFolder folder;
  LandingServer server;
  const std::string text = "city,note\nBerlin,\"two\nlines\"\nParis,\n";
  EXPECT_EQ(send(server, {folder.file("a.CSV", text)}).exit_code, 0);
  EXPECT_EQ(server.all(),
            "{\"city\":\"Berlin\",\"note\":\"two\\nlines\"}\n{\"city\":\"Paris\",\"note\":\"\"}\n");
  const auto same = send(server, {folder.file("a.txt", text), "--format", "csv"});
  EXPECT_THAT(same.out, HasSubstr("1 batch replayed (2 rows)"));
}

TEST(Send, AFileThatIsNotWhatItClaimsSendsNothing) {
  TempFolder folder;
  LandingServer server;
  std::string late = "a,b\n";
  for (int index = 0; index < 50'000; ++index) late += "1,22222222222222222222\n";
  struct Case {
    std::string path;
    std::string message;
  };
  const Case kCases[] = {
      {folder.file("late.csv", late + "1\n"),
       "late.csv, line 50002: the row has 1 cell, the header row has 2 cells\n"},
      {folder.file("tabs.csv", "a\tb\n1\t2\n"), "tabs.csv, line 1: the header row is one cell"},
      {folder.file("array.json", "[{\"a\":1}]"), "array.json, line 1: the file is a JSON array"},
      {folder.path("missing.csv"), "missing.csv cannot be opened: No such file or directory\n"},
      {folder.path(""), "is a folder: name a file in it\n"},
  };
  for (const Case& test : kCases) {
    const auto result = send(server, {test.path});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr(test.message));
    EXPECT_EQ(result.out, "");
  }
  EXPECT_TRUE(server.requests.empty());
}

TEST(Send, NoRecordIsNoBatch) {
  TempFolder folder;
  LandingServer server;
  const std::string path = folder.file("empty.csv", "a,b\n");
  const auto result = send(server, {path});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "no record in " + path + ": nothing was sent\n");
  EXPECT_TRUE(server.requests.empty());
}

TEST(Send, ARefusedBatchNamesTheFilesLinesAndTheOthersGoOn) {
  TempFolder folder;
  LandingServer server;
  server.answer = [&server](const http::ClientRequest& request) -> Result<http::ClientResponse> {
    if (!header_of(request, "Idempotency-Key").ends_with("-000001")) return server.land(request);
    std::string errors;
    for (int index = 0; index < 11; ++index) {
      errors += R"(,{"line":2,"column":"n","reason":"bad\u001b number"})";
    }
    return reply(
        400, R"({"title":"Bad batch","status":400,"detail":"line 1: no Nothing landed. Advice.",)"
             R"("code":"bad_batch","error_count":12,"errors":[{"line":1,"reason":"no"})" +
                 errors + "]}");
  };
  const std::string path = folder.file("a.ndjson", "{}\n\n{}\n{}\n\n\n{}\n{}\n");
  const auto result = send(server, {path, "--batch-rows", "2"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out,
            "3 rows landed in 2 batches, 0 batches replayed (0 rows), 1 batch refused, 0.00 s\n");
  const std::string id = header_of(server.requests[1], "Idempotency-Key").substr(0, 17) + "000001";
  EXPECT_THAT(result.err, HasSubstr("strata: batch " + id +
                                    " refused: Nothing landed. Advice.\n"
                                    "  line 4: no\n"
                                    "  line 7, column n: bad\\x1b number\n"));
  EXPECT_THAT(result.err, HasSubstr("  and 2 more\n"));
}

TEST(Send, OnlyTheFirstTenRefusedBatchesAreListed) {
  TempFolder folder;
  FakeServer server;
  server.answer = [](const http::ClientRequest&) {
    return testing::problem(413, "Large", "split");
  };
  const auto result =
      send(server, {folder.file("a.ndjson", many_records(25)), "--batch-rows", "1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("-000009 refused: split\n"));
  EXPECT_THAT(result.err, Not(HasSubstr("-000010")));
  EXPECT_THAT(result.err, HasSubstr("strata: and 15 more batches refused\n"));
  EXPECT_THAT(result.out, HasSubstr("25 batches refused"));
}

TEST(Send, AnAnswerThatEveryBatchWouldMeetStopsIt) {
  for (const int status : {401, 403, 404, 411, 415}) {
    TempFolder folder;
    FakeServer server;
    server.answer = [status](const http::ClientRequest&) {
      return testing::problem(status, "No", "not you");
    };
    const auto result = send(server, {folder.file("a.ndjson", many_records(100)), "--batch-rows",
                                      "1", "--parallel", "2"});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("strata: No: not you\n"));
    EXPECT_LE(server.requests.size(), 2U);
    EXPECT_THAT(result.out, HasSubstr("100 batches without an answer"));
  }
}

TEST(Send, TriesAgainAndSaysSoOnce) {
  TempFolder folder;
  LandingServer server;
  std::set<std::string> met;
  server.answer = [&server,
                   &met](const http::ClientRequest& request) -> Result<http::ClientResponse> {
    // The first answer to every batch is lost after it landed.
    auto landed = server.land(request);
    if (met.insert(header_of(request, "Idempotency-Key")).second) return testing::no_answer();
    return landed;
  };
  const auto result = send(server, {folder.file("a.ndjson", many_records(5)), "--batch-rows", "1"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("0 rows landed in 0 batches, 5 batches replayed (5 rows)"));
  EXPECT_THAT(result.err,
              HasSubstr("strata: trying again with the same ids: connection refused\n"));
  EXPECT_EQ(server.landed.size(), 5U);
  EXPECT_EQ(server.requests.size(), 10U);
}

TEST(Send, GivesUpOnAServerOutOfReach) {
  TempFolder folder;
  FakeServer server;
  server.answer = [](const http::ClientRequest&) { return testing::no_answer(); };
  const auto result = send(
      server, {folder.file("a.ndjson", many_records(50)), "--batch-rows", "1", "--parallel", "1"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(server.requests.size(), 10U);
  EXPECT_THAT(result.err, HasSubstr("no Strata answers at http://127.0.0.1:8080: is it running? "
                                    "start it with: make run (or strata serve)"));
  EXPECT_THAT(result.err, HasSubstr("running the same command again is safe"));
  EXPECT_GT(result.slept, std::chrono::seconds(10));
}

TEST(Send, GivesUpOnAServerThatStaysBusy) {
  TempFolder folder;
  FakeServer server;
  server.answer = [](const http::ClientRequest&) { return testing::problem(503, "Busy", "later"); };
  const auto result = send(server, {folder.file("a.ndjson", "{}\n")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("strata: gave up after 10 tries: Busy: later\n"
                                    "strata: running the same command again is safe"));
}

TEST(Send, TheProgressBarIsForTerminals) {
  TempFolder folder;
  LandingServer server;
  const std::string path = folder.file("a.ndjson", many_records(10));
  const auto quiet = run_program(server, {.arguments = {"send", "demo", "weather", path}});
  EXPECT_THAT(quiet.err, Not(HasSubstr("\r")));
  const auto shown = run_program(
      server, {.arguments = {"send", "demo", "weather", path}, .err_is_terminal = true});
  EXPECT_EQ(shown.err, "\r\x1b[K[##############################] 100%  10 rows  0.0 s\r\x1b[K");
}

TEST(Send, TellsWhenTheFileChangesUnderIt) {
  TempFolder folder;
  LandingServer server;
  const std::string path = folder.file("a.ndjson", many_records(40'000));
  bool done = false;
  server.answer = [&](const http::ClientRequest& request) -> Result<http::ClientResponse> {
    if (!std::exchange(done, true)) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-20, std::ios::end);
      file << "y";
    }
    return server.land(request);
  };
  const auto result = send(server, {path, "--parallel", "1"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("changed while it was being sent"));
}

TEST(Send, WhatIsAppendedMeanwhileIsNotSent) {
  TempFolder folder;
  LandingServer server;
  const std::string text = many_records(40'000);
  const std::string path = folder.file("a.ndjson", text);
  bool done = false;
  server.answer = [&](const http::ClientRequest& request) -> Result<http::ClientResponse> {
    if (!std::exchange(done, true)) {
      std::ofstream(path, std::ios::app | std::ios::binary) << "{\"late\":1}\n";
    }
    return server.land(request);
  };
  const auto result = send(server, {path, "--parallel", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("grew while it was being sent"));
  EXPECT_TRUE(server.all() == text);
}

}  // namespace
}  // namespace strata::cli
