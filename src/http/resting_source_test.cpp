#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "http/server.h"
#include "http/test_support.h"

/// Bodies that are long over nothing: BodySource::pause().
namespace strata::http {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::RawReply;

/// Says `word` and then, after a pause, nothing for as long as it lives.
class RestingSource final : public BodySource {
 public:
  RestingSource(std::chrono::milliseconds pause, std::latch& gone) : pause_(pause), gone_(gone) {}
  ~RestingSource() override { gone_.count_down(); }
  Result<std::optional<std::string>> next() override { return calls_++ == 0 ? "word" : ""; }
  std::chrono::milliseconds pause() const override { return pause_; }

 private:
  const std::chrono::milliseconds pause_;
  std::latch& gone_;
  int calls_ = 0;
};

Route resting(std::chrono::milliseconds pause, std::latch& gone) {
  return {.method = "GET",
          .pattern = "/rests",
          .lane = Lane::kControl,
          .admit = nullptr,
          .handler = [pause, &gone](const Request&) {
            Response response;
            response.source = std::make_unique<RestingSource>(pause, gone);
            return response;
          }};
}

Route ok() {
  return {.method = "GET",
          .pattern = "/ok",
          .lane = Lane::kControl,
          .admit = nullptr,
          .handler = [](const Request&) { return Response{200, {}, "ok", nullptr}; }};
}

constexpr std::string_view kAsk = "GET /rests HTTP/1.1\r\nHost: a\r\n\r\n";

ServerOptions one_thread() {
  ServerOptions options = test::test_options();
  options.control_threads = 1;
  options.queue_max = 1;
  return options;
}

TEST(RestingSource, HoldsNoThreadAndGoesAtOnceWithItsClient) {
  constexpr int kMany = 20;
  std::latch gone(kMany);
  const auto server = test::start(one_thread(), {resting(1h, gone), ok()});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < kMany; ++i) {
    clients.push_back(std::make_unique<RawClient>(server->port()));
    clients.back()->send(kAsk);
    EXPECT_TRUE(clients.back()->wait_for("word"));
  }
  EXPECT_EQ(RawClient(server->port()).ask("GET /ok HTTP/1.1\r\nHost: a\r\n\r\n").body, "ok");
  for (const auto& client : clients) client->close();
  gone.wait();
}

TEST(RestingSource, GoesOnAfterItsPauseAndPastARequestSentAhead) {
  std::latch gone(1);
  const auto server = test::start(one_thread(), {resting(1ms, gone), ok()});
  RawClient client(server->port());
  client.send(std::string(kAsk) + "GET /ok HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(client.wait_for("word"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(RawClient(server->port()).ask("GET /ok HTTP/1.1\r\nHost: a\r\n\r\n").body, "ok");
  }
  server->stop();
  EXPECT_TRUE(client.read().whole);
  gone.wait();
}

TEST(RestingSource, EndsWholeWhenTheServerStops) {
  std::latch gone(1);
  const auto server = test::start(one_thread(), {resting(1h, gone)});
  RawClient client(server->port());
  client.send(kAsk);
  EXPECT_TRUE(client.wait_for("word"));
  server->stop();
  const RawReply reply = client.read();
  EXPECT_EQ(reply.body, "word");
  EXPECT_TRUE(reply.whole);
  gone.wait();
}

}  // namespace
}  // namespace strata::http
