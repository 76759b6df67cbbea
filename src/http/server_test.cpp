#include "http/server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "http/compress_support.h"
#include "http/test_support.h"

namespace strata::http {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::RawReply;
using test::route;
using test::test_options;
using test::text;

std::string get(std::string_view path, std::string_view headers = "") {
  return fmt::format("GET {} HTTP/1.1\r\nHost: a\r\n{}\r\n", path, headers);
}

std::string post(std::string_view path, std::string_view headers, std::string_view body = "") {
  return fmt::format("POST {} HTTP/1.1\r\nHost: a\r\n{}\r\n{}", path, headers, body);
}

std::string length(std::uint64_t bytes) { return fmt::format("Content-Length: {}\r\n", bytes); }

/// With a body of so many bytes.
std::string post_body(std::size_t bytes) {
  return post("/body", length(bytes), std::string(bytes, 'x'));
}

constexpr std::string_view kChunked = "Transfer-Encoding: chunked\r\n";

Route ok(Lane lane = Lane::kControl) {
  return route("GET", "/ok", [](const Request&) { return text("ok"); }, lane);
}

Handler body_size() {
  return [](const Request& request) { return text(std::to_string(request.body.size())); };
}

Admit limit(std::uint64_t bytes) {
  return [bytes](const Request&) { return bytes; };
}

/// Keeps handlers waiting until it is opened, once, before the server goes.
class Gate {
 public:
  void open() { release_.count_down(); }
  Handler handler() {
    return [this](const Request&) {
      entered_.release();
      release_.wait();
      return text("through");
    };
  }
  void wait_for_one() { entered_.acquire(); }

 private:
  std::latch release_{1};
  std::counting_semaphore<> entered_{0};
};

// ---- Bodies

struct Sent {
  std::string name;
  std::string headers;
  std::string body;
};

TEST(BodyLimit, HoldsToTheByte) {
  const auto server = test::start(
      test_options(), {route("POST", "/body", body_size(), Lane::kCommit, limit(1000))});
  for (const std::size_t bytes : {999UL, 1000UL, 1001UL}) {
    const std::string content(bytes, 'x');
    const std::string whole = fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", bytes, content);
    std::string small;
    for (std::size_t i = 0; i < bytes; ++i) small += "1\r\nx\r\n";
    small += "0\r\n\r\n";
    const Sent ways[] = {{"declared", length(bytes), content},
                         {"one chunk", std::string(kChunked), whole},
                         {"many chunks", std::string(kChunked), small}};
    for (const Sent& way : ways) {
      SCOPED_TRACE(fmt::format("{} bytes, {}", bytes, way.name));
      RawClient client(server->port());
      const RawReply reply = client.ask(post("/body", way.headers, way.body));
      if (bytes <= 1000) {
        EXPECT_EQ(reply.status, 200);
        EXPECT_EQ(reply.body, std::to_string(bytes));
        continue;
      }
      EXPECT_EQ(reply.status, 413);
      EXPECT_EQ(reply.body, way.name == "declared"
                                ? "The body is larger than 1000 bytes (1001 declared)."
                                : "The body is larger than 1000 bytes (more than 1000 received).");
      EXPECT_EQ(reply.header("Connection"), "close");
      EXPECT_TRUE(client.ended());
    }
  }
}

TEST(BodyLimit, IsTheControlLimitWithoutAdmission) {
  const auto server = test::start(test_options(), {route("POST", "/body", body_size())});
  constexpr std::size_t kMax = limits::kControlBodyBytesMax;
  EXPECT_EQ(RawClient(server->port()).ask(post_body(kMax)).body, std::to_string(kMax));
  EXPECT_EQ(RawClient(server->port()).ask(post("/body", length(kMax + 1))).status, 413);
}

TEST(BodyLimit, IsAnsweredAtOnceAndTheHandlerNeverRuns) {
  std::atomic<int> handled = 0;
  const auto server =
      test::start(test_options(), {route("POST", "/body", [&handled](const Request&) {
                    ++handled;
                    return text("");
                  })});
  RawClient silent(server->port());
  EXPECT_EQ(silent.ask(post("/body", length(10'000'000'000))).body,
            "The body is larger than 1048576 bytes (10000000000 declared).");
  EXPECT_TRUE(silent.ended());
  RawClient chunked(server->port());
  EXPECT_EQ(chunked.ask(post("/body", kChunked, "2540BE400\r\n")).status, 413);
  EXPECT_TRUE(chunked.ended());
  EXPECT_EQ(handled, 0);
}

/// Some clients look for an answer only after they have sent everything.
TEST(BodyLimit, AClientThatIsStillSendingSeesTheAnswer) {
  const auto server = test::start(test_options(), {route("POST", "/body", body_size())});
  const std::string content(6'000'000, 'x');
  for (const Sent& way : {Sent{"declared", length(content.size()), content},
                          Sent{"chunked", std::string(kChunked),
                               fmt::format("{:x}\r\n", content.size()) + content}}) {
    SCOPED_TRACE(way.name);
    RawClient client(server->port());
    EXPECT_TRUE(client.send(post("/body", way.headers, way.body)));
    EXPECT_EQ(client.read().status, 413);
    EXPECT_TRUE(client.ended());
  }
}

TEST(BodyLimit, TheServerStopsReading) {
  const auto server = test::start(test_options(), {route("POST", "/body", body_size())});
  RawClient client(server->port());
  const std::string mebibyte(1024UL * 1024, 'x');
  ASSERT_TRUE(client.send(post("/body", length(10'000'000'000))));
  int taken = 0;
  while (taken < 1000 && client.send(mebibyte)) ++taken;
  EXPECT_LT(taken, 64);
}

TEST(Expect, GetsIts100OnlyAfterAdmission) {
  Gate gate;
  std::atomic<bool> admitted = false;
  const Admit admit = [&](const Request& head) -> std::expected<std::uint64_t, Response> {
    EXPECT_EQ(head.body, "");
    EXPECT_EQ(head.content_length, 5U);
    gate.handler()(head);
    admitted = true;
    return 5;
  };
  const auto server =
      test::start(test_options(), {route("POST", "/body", body_size(), Lane::kCommit, admit)});
  RawClient client(server->port());
  client.send(post("/body", length(5) + "Expect: 100-continue\r\n"));
  gate.wait_for_one();
  gate.open();
  EXPECT_EQ(client.read().status, 100);
  EXPECT_TRUE(admitted);
  EXPECT_EQ(client.ask("12345").body, "5");
}

TEST(Expect, ARefusalComesInsteadOfThe100) {
  const Admit admit = [](const Request& head) -> std::expected<std::uint64_t, Response> {
    if (head.header("Allowed")) return 5;
    return std::unexpected(text("no", 403));
  };
  const auto server = test::start(
      test_options(), {route("POST", "/body", body_size(), Lane::kControl, admit), ok()});
  const std::string expect = "Expect: 100-continue\r\n";
  struct Row {
    std::string bytes;
    int status;
  };
  for (const Row& row : {Row{post("/body", length(5) + expect), 403},
                         Row{post("/body", length(6) + expect + "Allowed: 1\r\n"), 413},
                         Row{post("/nothing", length(5) + expect), 404},
                         Row{post("/ok", length(5) + expect), 405}}) {
    RawClient client(server->port());
    EXPECT_EQ(client.ask(row.bytes).status, row.status);
    EXPECT_TRUE(client.ended());
  }
}

TEST(Expect, NothingToWaitForGetsNo100) {
  const auto server = test::start(test_options(), {route("POST", "/body", body_size())});
  RawClient client(server->port());
  EXPECT_EQ(client.ask(post("/body", length(2) + "Expect: 100-continue\r\n", "hi")).body, "2");
  EXPECT_EQ(client.ask(post("/body", length(0) + "Expect: 100-continue\r\n")).body, "0");
}

// ---- Deadlines

TEST(Deadline, OfTheHeadIsForAllOfIt) {
  ServerOptions options = test_options();
  options.header_deadline = 200ms;
  const auto server = test::start(std::move(options), {ok()});
  RawClient client(server->port());
  std::atomic<bool> answered = false;
  std::thread drip([&] {
    for (const char byte : get("/ok", "X: " + std::string(2000, 'x') + "\r\n")) {
      if (answered || !client.send(std::string_view(&byte, 1))) return;
      std::this_thread::sleep_for(20ms);
    }
  });
  const RawReply reply = client.read();
  answered = true;
  drip.join();
  EXPECT_EQ(reply.status, 408);
  EXPECT_TRUE(client.ended());
}

TEST(Deadline, OfTheBodyIsForAllOfIt) {
  ServerOptions options = test_options();
  options.body_deadline = 200ms;
  const auto server = test::start(std::move(options), {route("POST", "/body", body_size())});
  for (const Sent& way : {Sent{"declared", length(1000), "x"},
                          Sent{"chunked", std::string(kChunked), "1\r\nx\r\n"}}) {
    SCOPED_TRACE(way.name);
    RawClient client(server->port());
    EXPECT_EQ(client.ask(post("/body", way.headers, way.body)).status, 408);
    EXPECT_TRUE(client.ended());
  }
}

TEST(Deadline, AConnectionThatAsksNothingIsClosedWithoutAWord) {
  ServerOptions options = test_options();
  options.header_deadline = 100ms;
  options.idle_deadline = 100ms;
  const auto server = test::start(std::move(options), {ok()});
  RawClient never(server->port());
  EXPECT_TRUE(never.ended());
  RawClient once(server->port());
  EXPECT_EQ(once.ask(get("/ok")).status, 200);
  EXPECT_TRUE(once.ended());
}

TEST(Deadline, OfWritingEndsAClientThatDoesNotRead) {
  std::promise<bool> cut;
  ServerOptions options = test_options();
  options.write_deadline = 200ms;
  options.access_log = [&](const AccessRecord& record) { cut.set_value(record.cut); };
  const auto server = test::start(std::move(options), {route("GET", "/big", [](const Request&) {
                                    return text(std::string(32UL * 1024 * 1024, 'x'));
                                  })});
  RawClient client(server->port());
  client.send(get("/big"));
  EXPECT_TRUE(cut.get_future().get());
  EXPECT_FALSE(client.read().whole);
}

// ---- Streams

/// Hands out what `next` makes; tells when it goes.
class TestSource final : public BodySource {
 public:
  using Next = std::function<Result<std::optional<std::string>>(int call)>;
  TestSource(Next next, std::latch& gone) : next_(std::move(next)), gone_(gone) {}
  ~TestSource() override { gone_.count_down(); }
  Result<std::optional<std::string>> next() override { return next_(call_++); }

 private:
  Next next_;
  std::latch& gone_;
  int call_ = 0;
};

Route streaming(TestSource::Next next, std::latch& gone) {
  return route(
      "GET", "/stream",
      [next = std::move(next), &gone](const Request&) {
        Response response = text("begin ");
        response.source = std::make_unique<TestSource>(next, gone);
        return response;
      },
      Lane::kQuery);
}

Result<std::optional<std::string>> three_pieces(int call) {
  if (call == 3) return std::nullopt;
  return call == 1 ? "" : "piece ";
}

TEST(Stream, ArrivesWholeAndTheConnectionGoesOn) {
  std::latch gone(2);
  const auto server = test::start(test_options(), {streaming(three_pieces, gone), ok()});
  RawClient client(server->port());
  const RawReply reply = client.ask(get("/stream"));
  EXPECT_EQ(reply.header("Transfer-Encoding"), "chunked");
  EXPECT_EQ(reply.header("Content-Length"), "");
  EXPECT_EQ(reply.body, "begin piece piece ");
  EXPECT_TRUE(reply.whole);
  client.send("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.read(true).header("Transfer-Encoding"), "chunked");
  EXPECT_EQ(client.ask(get("/ok")).body, "ok");
  gone.wait();
}

TEST(Stream, IsHandedOnPieceByPiece) {
  std::latch gone(1);
  Gate gate;
  const auto next = [&](int call) -> Result<std::optional<std::string>> {
    if (call == 0) return "first";
    gate.handler()(Request{});
    return std::nullopt;
  };
  const auto server = test::start(test_options(), {streaming(next, gone)});
  RawClient client(server->port());
  client.send(get("/stream"));
  EXPECT_TRUE(client.wait_for("first"));
  gate.open();
  EXPECT_TRUE(client.read().whole);
}

TEST(Stream, ACutOneIsNeverTakenForAWholeOne) {
  std::latch gone(3);
  std::latch logged(3);
  std::atomic<int> cut = 0;
  ServerOptions options = test_options();
  options.access_log = [&](const AccessRecord& record) {
    cut += record.cut ? 1 : 0;
    logged.count_down();
  };
  const auto failing = [](int call) -> Result<std::optional<std::string>> {
    if (call == 2) return make_error(Code::kIo, "cut");
    return "piece ";
  };
  const auto throwing = [](int) -> Result<std::optional<std::string>> {
    throw std::runtime_error("thrown");
  };
  {
    const auto server = test::start(options, {streaming(failing, gone)});
    RawClient client(server->port());
    const RawReply reply = client.ask(get("/stream"));
    EXPECT_EQ(reply.body, "begin piece piece ");
    EXPECT_FALSE(reply.whole);
    RawClient old(server->port());
    EXPECT_FALSE(old.ask("GET /stream HTTP/1.0\r\n\r\n").whole);
  }
  {
    const auto server = test::start(options, {streaming(throwing, gone)});
    EXPECT_FALSE(RawClient(server->port()).ask(get("/stream")).whole);
  }
  gone.wait();
  logged.wait();
  EXPECT_EQ(cut, 3);
}

TEST(Stream, OnHttp10EndsWithTheConnection) {
  std::latch gone(1);
  const auto server = test::start(test_options(), {streaming(three_pieces, gone)});
  RawClient client(server->port());
  const RawReply reply = client.ask("GET /stream HTTP/1.0\r\n\r\n");
  EXPECT_EQ(reply.header("Transfer-Encoding"), "");
  EXPECT_EQ(reply.body, "begin piece piece ");
  EXPECT_TRUE(reply.whole);
}

TEST(Stream, TheSourceGoesWhenTheClientDoes) {
  std::latch gone(1);
  const auto endless = [](int) -> Result<std::optional<std::string>> {
    std::this_thread::sleep_for(5ms);
    return std::string(1000, 'x');
  };
  const auto server = test::start(test_options(), {streaming(endless, gone)});
  RawClient client(server->port());
  client.send(get("/stream"));
  EXPECT_TRUE(client.wait_for("xxx"));
  client.close();
  gone.wait();
}

// ---- Lanes

TEST(Lanes, AFullOneAnswers503AndTheOthersGoOn) {
  Gate gate;
  ServerOptions options = test_options();
  options.commit_threads = 1;
  options.queue_max = 1;
  const auto server = test::start(
      std::move(options),
      {route("POST", "/commit", gate.handler(), Lane::kCommit), ok(Lane::kQuery),
       route("GET", "/live", [](const Request&) { return text("live"); }, Lane::kInline)});
  RawClient running(server->port());
  running.send(post("/commit", length(0)));
  gate.wait_for_one();
  RawClient waiting(server->port());
  waiting.send(post("/commit", length(0)));
  while (server->commit_queue() == 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(server->commit_queue(), 1U);

  RawClient refused(server->port());
  const RawReply reply = refused.ask(post("/commit", length(2), "hi"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.header("Retry-After"), "1");
  EXPECT_EQ(refused.ask(get("/live")).body, "live");
  EXPECT_EQ(refused.ask(get("/ok")).body, "ok");

  gate.open();
  EXPECT_EQ(running.read().body, "through");
  EXPECT_EQ(waiting.read().body, "through");
  EXPECT_EQ(server->commit_queue(), 0U);
}

TEST(Lanes, AFullOneRefusesBeforeTheBodyWhereThereIsAdmission) {
  Gate gate;
  ServerOptions options = test_options();
  options.commit_threads = 1;
  options.queue_max = 1;
  const auto server =
      test::start(std::move(options),
                  {route("POST", "/commit", gate.handler(), Lane::kCommit, limit(100'000))});
  RawClient running(server->port());
  running.send(post("/commit", length(0)));
  gate.wait_for_one();
  RawClient waiting(server->port());
  waiting.send(post("/commit", length(0)));
  while (server->commit_queue() == 0) std::this_thread::sleep_for(1ms);
  RawClient refused(server->port());
  EXPECT_EQ(refused.ask(post("/commit", length(50'000))).status, 503);
  EXPECT_TRUE(refused.ended());
  gate.open();
}

// ---- What all bodies together may hold

/// A server whose one handler waits, with room for so many bytes of bodies.
std::unique_ptr<Server> start_with_budget(Gate& gate, std::uint64_t bytes) {
  ServerOptions options = test_options();
  options.body_bytes_held_max = bytes;
  Route body = route("POST", "/body", gate.handler(), Lane::kCommit, limit(1'000'000));
  body.takes_encodings = true;
  return test::start(std::move(options), {std::move(body)});
}

TEST(Bodies, BeyondWhatIsHeldAreRefusedBeforeTheyAreRead) {
  Gate gate;
  const auto server = start_with_budget(gate, 500'000);
  RawClient holds(server->port());
  holds.send(post_body(400'000));
  gate.wait_for_one();
  // What came with its head is not counted: a read's worth at most.
  EXPECT_LE(server->body_bytes_held(), 400'000U);
  EXPECT_GE(server->body_bytes_held(), 380'000U);
  RawClient refused(server->port());
  const RawReply reply = refused.ask(post("/body", length(200'000)));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.header("Retry-After"), "1");
  EXPECT_EQ(reply.header("Connection"), "close");
  RawClient small(server->port());
  small.send(post_body(1'000));
  gate.open();
  EXPECT_EQ(small.read().body, "through");
  EXPECT_EQ(holds.read().body, "through");
  EXPECT_EQ(holds.ask(post_body(450'000)).status, 200);
  EXPECT_EQ(server->body_bytes_held(), 0U);
}

TEST(Bodies, WhatIsOnlyDeclaredHoldsNothing) {
  Gate gate;
  gate.open();
  const auto server = start_with_budget(gate, 500'000);
  RawClient idle(server->port());
  idle.send(post("/body", length(450'000), "x"));
  RawClient other(server->port());
  EXPECT_EQ(other.ask(post_body(400'000)).status, 200);
  EXPECT_LE(server->body_bytes_held(), 70'000U);
}

TEST(Bodies, ThatGrowBeyondItAreRefusedAndGiveBackWhatTheyHeld) {
  Gate gate;
  const auto server = start_with_budget(gate, 500'000);
  RawClient holds(server->port());
  holds.send(post_body(300'000));
  gate.wait_for_one();
  const std::uint64_t held_bytes = server->body_bytes_held();
  RawClient chunked(server->port());
  chunked.send(
      post("/body", kChunked, fmt::format("{:x}\r\n{}", 900'000, std::string(250'000, 'x'))));
  EXPECT_EQ(chunked.read().status, 503);
  EXPECT_EQ(server->body_bytes_held(), held_bytes);
  RawClient inflated(server->port());
  const std::string bomb = test::gzip(std::string(900'000, 'x'));
  const std::string headers = "Content-Encoding: gzip\r\n" + length(bomb.size());
  EXPECT_EQ(inflated.ask(post("/body", headers, bomb)).status, 503);
  EXPECT_EQ(server->body_bytes_held(), held_bytes);
  gate.open();
  EXPECT_EQ(holds.read().body, "through");
  EXPECT_EQ(server->body_bytes_held(), 0U);
}

TEST(Lanes, RunOnTheirOwnThreads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const auto note = [&](const Request&) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    return text("");
  };
  ServerOptions options = test_options();
  options.io_threads = options.commit_threads = options.query_threads = options.control_threads = 1;
  const auto server = test::start(
      std::move(options),
      {route("GET", "/a", note, Lane::kInline), route("GET", "/b", note, Lane::kCommit),
       route("GET", "/c", note, Lane::kQuery), route("GET", "/d", note, Lane::kControl)});
  RawClient client(server->port());
  for (const char* path : {"/a", "/b", "/c", "/d", "/d"})
    EXPECT_EQ(client.ask(get(path)).status, 200);
  EXPECT_EQ(threads.size(), 4U);
}

// ---- Answers

TEST(Answer, HeadSaysWhatGetWouldWithoutTheBody) {
  const auto server = test::start(test_options(), {ok()});
  RawClient client(server->port());
  client.send("HEAD /ok HTTP/1.1\r\nHost: a\r\n\r\nHEAD /no HTTP/1.1\r\nHost: a\r\n\r\n" +
              get("/ok"));
  const RawReply reply = client.read(true);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Content-Length"), "2");
  EXPECT_EQ(reply.header("Content-Type"), "text/plain");
  EXPECT_EQ(client.read(true).status, 404);
  EXPECT_EQ(client.read().body, "ok");
}

TEST(Answer, OneWithoutContentHasNone) {
  const auto server = test::start(
      test_options(), {route("GET", "/none", [](const Request&) { return text("x", 204); }), ok()});
  RawClient client(server->port());
  const RawReply reply = client.ask(get("/none"));
  EXPECT_EQ(reply.status, 204);
  EXPECT_EQ(reply.header("Content-Length"), "");
  EXPECT_EQ(client.ask(get("/ok")).body, "ok");
}

TEST(Answer, AMethodNotTakenNamesThoseThatAre) {
  const auto handler = [](const Request&) { return text(""); };
  const auto server = test::start(
      test_options(), {route("GET", "/a/{b}", handler), route("POST", "/a/{b}", handler),
                       route("DELETE", "/c", handler)});
  RawClient client(server->port());
  const RawReply put = client.ask("PUT /a/x HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(put.status, 405);
  EXPECT_EQ(put.header("Allow"), "GET, HEAD, POST");
  EXPECT_EQ(client.ask(get("/c")).header("Allow"), "DELETE");
  const RawReply nothing = client.ask(get("/c/%64"));
  EXPECT_EQ(nothing.status, 404);
  EXPECT_EQ(nothing.header("Allow"), "");
  EXPECT_EQ(nothing.body, "There is nothing at '/c/%64'.");
}

TEST(Answer, EveryOneCarriesARequestId) {
  const auto server = test::start(test_options(), {ok()});
  RawClient client(server->port());
  struct Row {
    std::string headers;
    std::string id;  // empty: one of the server's own
  };
  const Row rows[] = {{"", ""},
                      {"X-Request-Id: a.B_9-\r\n", "a.B_9-"},
                      {"X-Request-Id: " + std::string(64, 'x') + "\r\n", std::string(64, 'x')},
                      {"X-Request-Id: " + std::string(65, 'x') + "\r\n", ""},
                      {"X-Request-Id: a b\r\n", ""},
                      {"X-Request-Id: \xc3\xa4\r\n", ""},
                      {"X-Request-Id:\r\n", ""},
                      {"X-Request-Id: a\r\nX-Request-Id: b\r\n", ""}};
  std::set<std::string> own;
  for (const Row& row : rows) {
    for (const char* path : {"/ok", "/nothing"}) {
      const RawReply reply = client.ask(get(path, row.headers));
      const std::string id = reply.header("X-Request-Id");
      if (row.id.empty()) {
        EXPECT_EQ(id.size(), 36U);
        EXPECT_TRUE(own.insert(id).second);
      } else {
        EXPECT_EQ(id, row.id);
      }
      if (reply.status == 404) {
        EXPECT_EQ(reply.header("Test-Id"), id);
      }
    }
  }
}

TEST(Answer, WhatThrowsIsA500AndTheConnectionGoesOn) {
  const auto thrower = [](const Request&) -> Response { throw std::runtime_error("secret"); };
  const Admit admit = [](const Request&) -> std::expected<std::uint64_t, Response> {
    throw std::runtime_error("admit");
  };
  ServerOptions options = test_options();
  options.guard = [](const Request& head) -> std::optional<Response> {
    if (head.path == "/guard") throw 7;
    return std::nullopt;
  };
  options.error_page = [](const Error& error, const Request& head) {
    if (head.path == "/page") throw std::runtime_error("page");
    return test::error_page(error, head);
  };
  const auto server =
      test::start(std::move(options), {route("GET", "/handler", thrower),
                                       route("GET", "/inline", thrower, Lane::kInline),
                                       route("GET", "/admit", thrower, Lane::kCommit, admit),
                                       route("GET", "/page", thrower), ok()});
  RawClient client(server->port());
  struct Row {
    std::string path;
    std::string detail;
  };
  for (const Row& row :
       {Row{"/handler", "secret"}, Row{"/inline", "secret"}, Row{"/admit", "admit"},
        Row{"/guard", "an exception of an unknown type"}, Row{"/page", ""}}) {
    SCOPED_TRACE(row.path);
    const RawReply reply = client.ask(get(row.path));
    EXPECT_EQ(reply.status, 500);
    EXPECT_EQ(reply.header("Test-Detail"), row.detail);
    EXPECT_FALSE(reply.body.contains("secret"));
  }
  EXPECT_EQ(client.ask(get("/ok")).body, "ok");
}

TEST(Answer, TheGuardComesBeforeTheRoute) {
  ServerOptions options = test_options();
  options.guard = [](const Request& head) -> std::optional<Response> {
    if (head.header("Host") == "a") return std::nullopt;
    return text("not here", 421);
  };
  const auto server = test::start(std::move(options), {ok()});
  RawClient client(server->port());
  EXPECT_EQ(client.ask(get("/ok")).status, 200);
  EXPECT_EQ(client.ask("GET /ok HTTP/1.1\r\nHost: b\r\n\r\n").status, 421);
  EXPECT_EQ(client.ask("GET /nothing HTTP/1.1\r\nHost: b\r\n\r\n").status, 421);
  EXPECT_EQ(client.ask("GET http://b/ok HTTP/1.1\r\nHost: a\r\n\r\n").status, 421);
}

TEST(Answer, HandlersSeeWhenAndFromWhere) {
  FakeClock clock(WallTime{} + 5h);
  ServerOptions options = test_options();
  options.clock = &clock;
  const auto server =
      test::start(std::move(options), {route("POST", "/a/{b}/{c}", [](const Request& request) {
                    return text(fmt::format("{} {} {} {} {} {}", request.peer,
                                            format_iso8601(request.arrived_at),
                                            request.params.at("b"), request.params.at("c"),
                                            request.content_length.value_or(77), request.body));
                  })});
  RawClient client(server->port());
  const RawReply reply = client.ask(post("/a/x/y%20z", length(2), "hi"));
  EXPECT_EQ(reply.body, "127.0.0.1 1970-01-01T05:00:00.000000Z x y z 2 hi");
  EXPECT_EQ(reply.header("Date"), "Thu, 01 Jan 1970 05:00:00 GMT");
  EXPECT_EQ(client.ask(post("/a/x/y", kChunked, "2\r\nhi\r\n0\r\n\r\n")).body,
            "127.0.0.1 1970-01-01T05:00:00.000000Z x y 77 hi");
}

TEST(AccessLog, OneRecordARequest) {
  std::mutex mutex;
  std::vector<AccessRecord> records;
  ServerOptions options = test_options();
  options.access_log = [&](const AccessRecord& record) {
    const std::lock_guard lock(mutex);
    records.push_back(record);
    throw std::runtime_error("a log that fails");
  };
  const std::string asked = post("/a/b", length(2) + "X-Request-Id: r1\r\n", "hi");
  {
    const auto server = test::start(std::move(options), {route("POST", "/a/{x}", body_size())});
    RawClient client(server->port());
    EXPECT_EQ(client.ask(asked).body, "2");
    EXPECT_EQ(client.ask(get("/nothing?x=1")).status, 404);
    EXPECT_EQ(client.ask("bad\r\n\r\n").status, 400);
  }
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].request_id, "r1");
  EXPECT_EQ(records[0].method, "POST");
  EXPECT_EQ(records[0].target, "/a/b");
  EXPECT_EQ(records[0].pattern, "/a/{x}");
  EXPECT_EQ(records[0].status, 200);
  EXPECT_EQ(records[0].request_bytes, asked.size());
  EXPECT_GT(records[0].response_bytes, 100U);
  EXPECT_FALSE(records[0].cut);
  EXPECT_EQ(records[1].target, "/nothing?x=1");
  EXPECT_EQ(records[1].pattern, "");
  EXPECT_EQ(records[1].status, 404);
  EXPECT_EQ(records[2].status, 400);
}

// ---- Start, limits, stop

TEST(Start, SaysWhyItCannot) {
  const auto server = test::start(test_options(), {ok()});
  ServerOptions options = test_options();
  options.port = server->port();
  EXPECT_EQ(Server::start(options, {ok()}).error().code, Code::kConflict);
  options.address = "localhost";
  EXPECT_EQ(Server::start(options, {ok()}).error().code, Code::kBadRequest);
  options.address = "192.0.2.1";  // RFC 5737: nobody's
  EXPECT_EQ(Server::start(options, {ok()}).error().code, Code::kIo);
}

TEST(Connections, OneTooManyIsTold) {
  ServerOptions options = test_options();
  options.connections_max = 1;
  const auto server = test::start(std::move(options), {ok()});
  RawClient first(server->port());
  EXPECT_EQ(first.ask(get("/ok")).status, 200);
  RawClient second(server->port());
  const RawReply reply = second.read();
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.header("Retry-After"), "1");
  EXPECT_TRUE(second.ended());
  EXPECT_EQ(first.ask(get("/ok")).status, 200);
  first.close();
  second.close();
  // Until the server has seen both go.
  while (RawClient(server->port()).ask(get("/ok")).status != 200) std::this_thread::sleep_for(1ms);
}

TEST(Connections, ManyClientsAtOnce) {
  const auto server = test::start(
      test_options(), {route("POST", "/body", body_size(), Lane::kCommit, limit(5000))});
  std::atomic<int> right = 0;
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < 16; ++i) {
    clients.emplace_back([&, i] {
      RawClient client(server->port());
      for (std::size_t n = 0; n < 50; ++n) {
        const std::size_t bytes = i * 100 + n;
        const RawReply reply = client.ask(post_body(bytes));
        right += reply.body == std::to_string(bytes) ? 1 : 0;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 16 * 50);
}

TEST(Stop, FinishesWhatIsInFlightAndClosesTheRest) {
  Gate gate;
  // On one thread all connections have heard of the stop once one has been closed for it.
  auto options = test_options();
  options.io_threads = 1;
  const auto server =
      test::start(std::move(options), {route("GET", "/slow", gate.handler(), Lane::kCommit), ok()});
  RawClient idle(server->port());
  EXPECT_EQ(idle.ask(get("/ok")).status, 200);
  RawClient fresh(server->port());
  RawClient busy(server->port());
  busy.send(get("/slow") + get("/ok"));
  gate.wait_for_one();

  std::thread stopper([&] { server->stop(); });
  EXPECT_TRUE(idle.ended());
  EXPECT_TRUE(fresh.ended());
  EXPECT_FALSE(RawClient(server->port()).connected());
  gate.open();
  const RawReply reply = busy.read();
  EXPECT_EQ(reply.body, "through");
  EXPECT_EQ(reply.header("Connection"), "close");
  EXPECT_TRUE(busy.ended());
  busy.close();
  stopper.join();
  server->stop();
}

TEST(Stop, CutsWhatDoesNotFinish) {
  std::latch gone(1);
  const auto endless = [](int) -> Result<std::optional<std::string>> {
    std::this_thread::sleep_for(5ms);
    return "x";
  };
  ServerOptions options = test_options();
  options.stop_deadline = 100ms;
  const auto server = test::start(std::move(options),
                                  {streaming(endless, gone), route("POST", "/body", body_size())});
  RawClient streaming(server->port());
  streaming.send(get("/stream"));
  EXPECT_TRUE(streaming.wait_for("x"));
  RawClient sending(server->port());
  sending.send(post("/body", length(10), "1"));
  server->stop();
  gone.wait();
  EXPECT_FALSE(streaming.read().whole);
  EXPECT_EQ(sending.read().status, 0);
}

/// What waits for a lane when the deadline passes is skipped, not begun.
TEST(Stop, DoesNotBeginWhatStillWaits) {
  Gate gate;
  std::atomic<int> begun = 0;
  ServerOptions options = test_options();
  options.commit_threads = 1;
  options.stop_deadline = 50ms;
  const auto server =
      test::start(std::move(options),
                  {route("GET", "/slow", gate.handler(), Lane::kCommit), route(
                                                                             "GET", "/next",
                                                                             [&](const Request&) {
                                                                               ++begun;
                                                                               return text("");
                                                                             },
                                                                             Lane::kCommit)});
  RawClient running(server->port());
  running.send(get("/slow"));
  gate.wait_for_one();
  RawClient waiting(server->port());
  waiting.send(get("/next"));
  while (server->commit_queue() == 0) std::this_thread::sleep_for(1ms);
  std::thread stopper([&] { server->stop(); });
  EXPECT_EQ(running.read().status, 0);  // cut
  EXPECT_EQ(waiting.read().status, 0);
  gate.open();
  stopper.join();
  EXPECT_EQ(begun, 0);
}

}  // namespace
}  // namespace strata::http
