#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>

#include "http/server.h"
#include "http/test_support.h"

/// What becomes of a request whose client leaves.
namespace strata::http {
namespace {

using test::RawClient;

constexpr std::string_view kLong = "GET /long HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kShort = "GET /short HTTP/1.1\r\nHost: a\r\n\r\n";

/// `/long` is at work until its client leaves, or until it is let go.
class ClientLeft : public ::testing::Test {
 protected:
  std::unique_ptr<Server> start(bool ends_with_client) {
    Route work = test::route(
        "GET", "/long",
        [this](const Request& request) {
          const std::stop_token left = request.client_left;
          entered_.release();
          std::unique_lock lock(mutex_);
          changed_.wait(lock, left, [this] { return let_go_; });
          lock.unlock();
          if (left.stop_requested()) ended_.release();
          return test::text("worked");
        },
        Lane::kQuery);
    work.ends_with_client = ends_with_client;
    ServerOptions options = test::test_options();
    options.query_threads = 1;
    options.body_deadline = std::chrono::milliseconds(50);
    return test::start(
        std::move(options),
        {std::move(work),
         test::route(
             "GET", "/short", [](const Request&) { return test::text("short"); }, Lane::kQuery)});
  }
  void let_go() {
    {
      const std::lock_guard lock(mutex_);
      let_go_ = true;
    }
    changed_.notify_all();
  }

  std::counting_semaphore<> entered_{0};
  std::counting_semaphore<> ended_{0};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool let_go_ = false;
};

TEST_F(ClientLeft, EndsItsWorkByClosing) {
  const auto server = start(true);
  RawClient client(server->port());
  client.send(kLong);
  entered_.acquire();
  client.close();
  ended_.acquire();
  RawClient next(server->port());
  EXPECT_EQ(next.ask(kShort).body, "short");
}

TEST_F(ClientLeft, EndsItsWorkByEndingItsSendingButSeesTheAnswer) {
  const auto server = start(true);
  RawClient client(server->port());
  client.send(kLong);
  entered_.acquire();
  client.end_sending();
  ended_.acquire();
  EXPECT_EQ(client.read().body, "worked");
}

TEST_F(ClientLeft, IsSeenBehindWhatItSentAhead) {
  const auto server = start(true);
  RawClient client(server->port());
  client.send(kLong);
  entered_.acquire();
  client.send(kShort);
  client.close();
  ended_.acquire();
}

TEST_F(ClientLeft, WhatWasSentAheadIsAnsweredInTurn) {
  const auto server = start(true);
  RawClient client(server->port());
  client.send(kLong);
  entered_.acquire();
  // Byte by byte, so that the watch reads many times.
  for (int i = 0; i < 3; ++i) {
    for (const char c : kShort) client.send(std::string_view(&c, 1));
  }
  let_go();
  EXPECT_EQ(client.read().body, "worked");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.read().body, "short");
}

TEST_F(ClientLeft, MoreThanIsReadAheadIsNotLostEither) {
  const auto server = start(true);
  RawClient client(server->port());
  std::string ahead;
  int count = 0;
  for (; ahead.size() < 100'000; ++count) ahead += kShort;
  client.send(kLong);
  entered_.acquire();
  client.send(ahead);
  let_go();
  EXPECT_EQ(client.read().body, "worked");
  for (int i = 0; i < count; ++i) ASSERT_EQ(client.read().body, "short") << i;
}

TEST_F(ClientLeft, OfOtherRoutesGoesUnnoticedAndTheAnswerIsWhole) {
  const auto server = start(false);
  RawClient client(server->port());
  client.send(kLong);
  entered_.acquire();
  client.end_sending();
  let_go();
  EXPECT_EQ(client.read().body, "worked");
  EXPECT_FALSE(ended_.try_acquire());
}

TEST_F(ClientLeft, ADeadlineOfTheBodyIsNoLeaving) {
  const auto server = start(true);
  RawClient client(server->port());
  client.send("GET /long HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
  entered_.acquire();
  // Only the deadline's passing would show the fault.
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  let_go();
  EXPECT_EQ(client.read().body, "worked");
  EXPECT_FALSE(ended_.try_acquire());
}

}  // namespace
}  // namespace strata::http
