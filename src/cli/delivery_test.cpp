#include "cli/delivery.h"

#include <gtest/gtest.h>

#include "cli/test_support.h"

namespace strata::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FakeClient;
using testing::FakeServer;
using testing::reply;

constexpr std::string_view kLanded = R"({"batch_id":"b","rows":7,"replayed":false})";
constexpr std::string_view kReplayed = R"({"batch_id":"b","rows":7,"replayed":true})";

struct Delivered {
  Delivery delivery;
  std::size_t tries = 0;
  std::vector<std::string> ids;
  milliseconds slept{0};
  std::vector<std::string> told;
};

// Delivers one batch to a server that answers with `answers`, the last of them for ever; a status
// of 0 is no answer.
Delivered deliver(std::vector<http::ClientResponse> answers) {
  FakeServer server;
  std::size_t next = 0;
  server.answer = [&answers, &next](const http::ClientRequest&) -> Result<http::ClientResponse> {
    const http::ClientResponse& answer = answers[std::min(next++, answers.size() - 1)];
    if (answer.status == 0) return testing::no_answer();
    return answer;
  };
  FakeClient client(server);
  const std::atomic<bool> cancelled = false;
  Delivered result;
  Courier courier(client, RetryPolicy{},
                  {.sleep = [&result](milliseconds time) { result.slept += time; },
                   .chance = [] { return 0.5; },
                   .on_retry = [&result](const std::string& why) { result.told.push_back(why); }},
                  cancelled);
  result.delivery = courier.deliver(
      {.method = "POST", .target = "/x", .headers = {{"Idempotency-Key", "b"}}, .body = "{}\n"});
  result.tries = server.requests.size();
  for (const auto& request : server.requests) {
    EXPECT_EQ(testing::header_of(request, "Idempotency-Key"), "b");
    EXPECT_EQ(request.body, "{}\n");
  }
  return result;
}

TEST(Delivery, TakesStratasReceiptOnly) {
  auto landed = deliver({reply(200, std::string(kLanded))});
  EXPECT_EQ(landed.delivery.kind, Delivery::Kind::kLanded);
  EXPECT_EQ(landed.delivery.rows, 7U);
  EXPECT_EQ(landed.tries, 1U);
  EXPECT_EQ(deliver({reply(200, std::string(kReplayed))}).delivery.kind, Delivery::Kind::kReplayed);
  for (const auto& strange : {reply(200, "<html>"), reply(200, "{}"), reply(204, ""),
                              reply(202, std::string(kLanded)), reply(301, "")}) {
    const auto refused = deliver({strange});
    EXPECT_EQ(refused.delivery.kind, Delivery::Kind::kRefused) << strange.status << strange.body;
    EXPECT_EQ(refused.tries, 1U);
  }
}

TEST(Delivery, SendsAgainWhatMayFareBetterAndNothingElse) {
  for (const int status : {0, 408, 429, 500, 502, 503, 504, 507}) {
    const auto result = deliver({reply(status, ""), reply(200, std::string(kReplayed))});
    EXPECT_EQ(result.delivery.kind, Delivery::Kind::kReplayed) << status;
    EXPECT_EQ(result.tries, 2U) << status;
    EXPECT_EQ(result.slept, milliseconds(75)) << status;
    EXPECT_EQ(result.told.size(), 1U) << status;
  }
  for (const int status : {400, 401, 403, 404, 405, 409, 411, 413, 415, 421, 422, 431, 501}) {
    const auto result = deliver({reply(status, ""), reply(200, std::string(kLanded))});
    EXPECT_EQ(result.delivery.kind, Delivery::Kind::kRefused) << status;
    EXPECT_EQ(result.delivery.response->status, status);
    EXPECT_EQ(result.tries, 1U) << status;
  }
}

TEST(Delivery, GivesUpAfterTenTries) {
  auto result = deliver({reply(503, "")});
  EXPECT_EQ(result.delivery.kind, Delivery::Kind::kGaveUp);
  EXPECT_EQ(result.tries, 10U);
  EXPECT_EQ(result.told.size(), 1U);
  EXPECT_EQ(result.delivery.response->status, 503);
  // 75 + 150 + 300 + 600 + 1200 + 2400 + 3 * 3750: nine waits, the last three at the cap.
  EXPECT_EQ(result.slept, milliseconds(75 + 150 + 300 + 600 + 1200 + 2400 + 3 * 3750));
  result = deliver({reply(0, "")});
  EXPECT_EQ(result.delivery.kind, Delivery::Kind::kGaveUp);
  EXPECT_FALSE(result.delivery.response.has_value());
  EXPECT_EQ(result.delivery.error.message, "connection refused");
}

TEST(Delivery, WaitsAsLongAsTheServerAsksWithinReason) {
  struct Case {
    std::string retry_after;
    milliseconds slept;
  };
  const Case kCases[] = {{"2", milliseconds(2'075)},
                         {"0", milliseconds(75)},
                         {"99999", milliseconds(60'075)},
                         {"-1", milliseconds(75)},
                         {"Wed, 21 Oct 2026 07:28:00 GMT", milliseconds(75)},
                         {"2 s", milliseconds(75)}};
  for (const Case& test : kCases) {
    const auto result = deliver(
        {reply(429, "", {{"Retry-After", test.retry_after}}), reply(200, std::string(kLanded))});
    EXPECT_EQ(result.slept, test.slept) << test.retry_after;
  }
}

TEST(Delivery, TheWaitDoublesToACapAndHalfOfItIsChance) {
  const RetryPolicy policy;
  EXPECT_EQ(backoff(policy, 1, 0.0, std::nullopt), milliseconds(50));
  EXPECT_EQ(backoff(policy, 1, 0.999, std::nullopt), milliseconds(99));
  EXPECT_EQ(backoff(policy, 3, 0.0, std::nullopt), milliseconds(200));
  EXPECT_EQ(backoff(policy, 9, 0.0, std::nullopt), milliseconds(2'500));
  EXPECT_EQ(backoff(policy, 1'000'000, 0.0, std::nullopt), milliseconds(2'500));
  EXPECT_EQ(backoff(policy, 1, 0.0, seconds(3)), milliseconds(3'050));
}

TEST(Delivery, StopsWaitingWhenItIsCancelled) {
  FakeServer server;
  server.answer = [](const http::ClientRequest&) { return reply(503, ""); };
  FakeClient client(server);
  std::atomic<bool> cancelled = false;
  milliseconds slept{0};
  Courier courier(client, {.base = seconds(60), .cap = seconds(60)},
                  {.sleep =
                       [&slept, &cancelled](milliseconds time) {
                         slept += time;
                         cancelled = true;
                       },
                   .chance = [] { return 0.0; },
                   .on_retry = [](const std::string&) {}},
                  cancelled);
  EXPECT_EQ(courier.deliver(http::ClientRequest{}).kind, Delivery::Kind::kCancelled);
  EXPECT_EQ(server.requests.size(), 1U);
  EXPECT_EQ(slept, milliseconds(250));
}

}  // namespace
}  // namespace strata::cli
