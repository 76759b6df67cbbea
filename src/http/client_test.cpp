#include "http/client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "base/testing/loopback.h"
#include "http/test_support.h"

namespace strata::http {
namespace {

using namespace std::chrono_literals;
using test::route;
using test::test_options;
using test::text;

constexpr auto kPatience = 20s;

std::unique_ptr<Client> client_of(std::uint16_t port,
                                  std::chrono::milliseconds timeout = kPatience) {
  return std::move(Client::create(fmt::format("http://127.0.0.1:{}", port), timeout)).value();
}

/// A server that answers as no sound one does: each connection it accepts goes to `serve` with its
/// number, from 0, one after the other, and is closed when that returns.
class ScriptedServer {
 public:
  explicit ScriptedServer(int connections, std::function<void(int fd, int number)> serve) {
    thread_ = std::thread([this, connections, serve = std::move(serve)] {
      for (int number = 0; number < connections; ++number) {
        const UniqueFd fd = listener_.accept();
        serve(fd.get(), number);
      }
      listener_.close();
    });
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer() { thread_.join(); }

  std::uint16_t port() const { return listener_.port(); }

 private:
  LoopbackListener listener_;
  std::thread thread_;
};

/// A request without a body; empty when the client left.
std::string read_request(int fd) {
  std::string request;
  char byte = 0;
  while (!request.ends_with("\r\n\r\n") && ::recv(fd, &byte, 1, 0) == 1) request += byte;
  return request;
}

void say(int fd, std::string_view text) {
  EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

TEST(Client, AsksAndIsAnswered) {
  const auto server =
      test::start(test_options(), {route("POST", "/a/{b}", [](const Request& request) {
                    Response response = text(
                        request.params.at("b") + " " + request.query.at("q") + " " +
                            std::string(request.header("X-One").value_or("")) + " " + request.body,
                        201);
                    response.headers.emplace_back("X-Two", "2");
                    return response;
                  })});
  const auto client = client_of(server->port());
  for (int i = 0; i < 2; ++i) {
    const auto response =
        client->send({.method = "POST",
                      .target = "/a/" + percent_encode("x/y ä") + "?q=" + percent_encode("1+1=2&"),
                      .headers = {{"X-One", "1"}},
                      .body = "body"});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 201);
    EXPECT_EQ(response->header("x-two"), "2");
    EXPECT_EQ(response->body, "x/y ä 1+1=2& 1 body");
  }
  const auto nothing = client->send({.target = "/nothing", .headers = {}, .body = {}});
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->status, 404);
  EXPECT_EQ(nothing->body, "There is nothing at '/nothing'.");
}

TEST(Client, HeadHasNoBody) {
  const auto server =
      test::start(test_options(), {route("GET", "/a", [](const Request&) { return text("abc"); })});
  const auto client = client_of(server->port());
  for (int i = 0; i < 2; ++i) {
    const auto response =
        client->send({.method = "HEAD", .target = "/a", .headers = {}, .body = {}});
    ASSERT_TRUE(response);
    EXPECT_EQ(response->header("Content-Length"), "3");
    EXPECT_EQ(response->body, "");
  }
}

TEST(Client, StreamsOnlyWhatSucceeded) {
  class Pieces final : public BodySource {
   public:
    Result<std::optional<std::string>> next() override {
      if (left_ == 0) return std::nullopt;
      --left_;
      return std::string(100'000, 'x');
    }

   private:
    int left_ = 20;
  };
  const auto server = test::start(test_options(), {route("GET", "/stream", [](const Request&) {
                                    Response response = text("");
                                    response.source = std::make_unique<Pieces>();
                                    return response;
                                  })});
  const auto client = client_of(server->port());
  std::size_t bytes = 0;
  std::size_t calls = 0;
  const auto count = [&](std::string_view piece) {
    bytes += piece.size();
    ++calls;
  };
  const auto whole =
      client->send_streaming({.target = "/stream", .headers = {}, .body = {}}, count);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->body, "");
  EXPECT_EQ(bytes, 2'000'000U);
  EXPECT_GT(calls, 1U);
  const auto refused = client->send_streaming({.target = "/no", .headers = {}, .body = {}}, count);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->body, "There is nothing at '/no'.");
  EXPECT_EQ(bytes, 2'000'000U);
}

TEST(Client, SeesTheAnswerToABodyThatWasNotTaken) {
  const auto server = test::start(
      test_options(), {route("POST", "/a", [](const Request&) { return text("taken"); })});
  const auto client = client_of(server->port());
  for (const std::size_t bytes : {2'000'000UL, 40'000'000UL}) {
    const auto response = client->send(
        {.method = "POST", .target = "/a", .headers = {}, .body = std::string(bytes, 'x')});
    ASSERT_TRUE(response) << response.error().message << " " << response.error().detail;
    EXPECT_EQ(response->status, 413);
  }
  EXPECT_EQ(client->send({.method = "POST", .target = "/a", .headers = {}, .body = "x"})->body,
            "taken");
}

TEST(Client, KeepsItsConnectionAndMakesItAnew) {
  std::vector<std::string> seen;
  {
    const ScriptedServer server(2, [&](int fd, int number) {
      for (int i = 0; i < 2; ++i) {
        seen.push_back(fmt::format("{} {}", number, read_request(fd).substr(0, 6)));
        const bool last = number == 0 && i == 1;
        say(fd, fmt::format("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n{}\r\nx",
                            last ? "Connection: close\r\n" : ""));
      }
    });
    const auto client = client_of(server.port());
    for (int i = 0; i < 4; ++i) {
      const auto response =
          client->send({.target = fmt::format("/{}", i), .headers = {}, .body = {}});
      ASSERT_TRUE(response) << response.error().message;
    }
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"0 GET /0", "0 GET /1", "1 GET /2", "1 GET /3"}));
}

/// The server closes the kept connection when the second request is there.
TEST(Client, RetriesOnlyAGetAndOnlyWhereNothingWasAnswered) {
  for (const std::string method : {"GET", "POST"}) {
    std::atomic<int> seen = 0;
    const ScriptedServer server(method == "GET" ? 2 : 1, [&](int fd, int number) {
      seen += read_request(fd).starts_with(method) ? 1 : 0;
      say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
      if (number == 0) seen += read_request(fd).starts_with(method) ? 1 : 0;
    });
    const auto client = client_of(server.port());
    const ClientRequest request{.method = method, .target = "/", .headers = {}, .body = {}};
    ASSERT_TRUE(client->send(request));
    const auto second = client->send(request);
    if (method == "GET") {
      ASSERT_TRUE(second) << second.error().message;
      EXPECT_EQ(second->body, "x");
      EXPECT_EQ(seen, 3);
    } else {
      ASSERT_FALSE(second);
      EXPECT_EQ(second.error().code, Code::kIo);
      EXPECT_EQ(seen, 2);
    }
  }
}

/// Closed before the request was sent: nothing was carried out, so any method may go anew.
TEST(Client, SeesThatAKeptConnectionIsGone) {
  std::latch closed(1);
  const ScriptedServer server(2, [&](int fd, int number) {
    if (number == 1) {
      read_request(fd);
      say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew");
      return;
    }
    read_request(fd);
    say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold");
    ::shutdown(fd, SHUT_RDWR);
    closed.count_down();
  });
  const auto client = client_of(server.port());
  const ClientRequest request{.method = "POST", .target = "/", .headers = {}, .body = {}};
  EXPECT_EQ(client->send(request)->body, "old");
  closed.wait();
  const auto second = client->send(request);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->body, "new");
}

TEST(Client, GivesUpAtItsTimeout) {
  struct Row {
    std::string name;
    std::string said;
  };
  for (const Row& row : {Row{"nothing", ""}, Row{"half a head", "HTTP/1.1 200 OK\r\nCont"},
                         Row{"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"}}) {
    SCOPED_TRACE(row.name);
    const ScriptedServer server(2, [&](int fd, int number) {
      read_request(fd);
      say(fd, number == 0 ? row.said : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      if (number == 0) read_request(fd);  // until the client leaves
    });
    const auto client = client_of(server.port(), 200ms);
    const ClientRequest request{.target = "/", .headers = {}, .body = {}};
    const auto response = client->send(request);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::kIo);
    EXPECT_EQ(response.error().message,
              fmt::format("No whole answer from 127.0.0.1:{} within 200 ms; the request may have "
                          "been carried out.",
                          server.port()));
    const auto second = client->send(request);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(second->body, "ok");
  }
}

TEST(Client, NeverTakesACutAnswerForAWholeOne) {
  for (const std::string said :
       {"", "HTTP/1.1 200 OK\r\nConte", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "nonsense\r\n\r\n"}) {
    SCOPED_TRACE(said);
    const ScriptedServer server(1, [&](int fd, int) {
      read_request(fd);
      say(fd, said);
    });
    const auto client = client_of(server.port());
    const auto response = client->send({.target = "/", .headers = {}, .body = {}});
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code, Code::kIo);
  }
}

TEST(Client, PassesOverInterimAnswersAndReadsToTheEndWithoutALength) {
  const ScriptedServer server(1, [&](int fd, int) {
    read_request(fd);
    say(fd, "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\n\r\nto the end");
  });
  const auto client = client_of(server.port());
  const auto response = client->send({.target = "/", .headers = {}, .body = {}});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->header("Link"), std::nullopt);
  EXPECT_EQ(response->body, "to the end");
}

TEST(Client, SaysThatNobodyIsThere) {
  std::uint16_t port = 0;
  {
    const auto server = test::start(test_options(), {});
    port = server->port();
  }
  const auto response = client_of(port)->send({.target = "/", .headers = {}, .body = {}});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::kIo);
  EXPECT_EQ(response.error().message,
            fmt::format("No connection to 127.0.0.1:{}; is a server running there?", port));
}

TEST(Client, RefusesWhatIsNoRequest) {
  const auto client = client_of(1);
  const ClientRequest requests[] = {
      {.method = "GET /", .target = "/", .headers = {}, .body = {}},
      {.target = "", .headers = {}, .body = {}},
      {.target = "a", .headers = {}, .body = {}},
      {.target = "/a b", .headers = {}, .body = {}},
      {.target = "/a\r\nX: y", .headers = {}, .body = {}},
      {.target = "/", .headers = {{"X", "a\r\nY: b"}}, .body = {}},
      {.target = "/", .headers = {{"X: y\r\nZ", "a"}}, .body = {}},
  };
  for (const ClientRequest& request : requests) {
    EXPECT_EQ(client->send(request).error().code, Code::kBadRequest) << request.target;
  }
}

TEST(Client, TakesAServersUrl) {
  for (const char* url :
       {"http://localhost:8080", "http://127.0.0.1:1/", "HTTP://[::1]:8080", "http://a"}) {
    EXPECT_TRUE(Client::create(url, 1s)) << url;
  }
  for (const char* url :
       {"", "localhost:8080", "https://a:1", "http://", "http://a:0", "http://a:65536",
        "http://a:", "http://a:1/path", "http://u:p@a:1", "http://a:1?x", "unix:///a"}) {
    const auto client = Client::create(url, 1s);
    ASSERT_FALSE(client) << url;
    EXPECT_EQ(client.error().code, Code::kBadRequest);
  }
}

TEST(Client, WhatTheCallerThrowsDoesNotPass) {
  const auto server =
      test::start(test_options(), {route("GET", "/a", [](const Request&) { return text("abc"); })});
  const auto client = client_of(server->port());
  const ClientRequest request{.target = "/a", .headers = {}, .body = {}};
  const auto response =
      client->send_streaming(request, [](std::string_view) { throw std::runtime_error("caller"); });
  EXPECT_EQ(response.error().code, Code::kInternal);
  EXPECT_EQ(client->send(request)->body, "abc");
}

}  // namespace
}  // namespace strata::http
