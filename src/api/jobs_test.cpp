#include "api/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/routes.h"
#include "api/test_support.h"

namespace strata::api {
namespace {

namespace json = boost::json;

Result<std::string> until_cancelled(jobs::JobProgress& progress) {
  progress.step("Matching columns");
  progress.progress(0.25);
  while (!progress.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return make_error(Code::kCancelled, "cancelled");
}

Result<std::string> done_at_once(jobs::JobProgress&) { return R"({"views":6})"; }

class JobsTest : public testing::Test, protected ApiProcess {
 protected:
  JobsTest() {
    for (http::Route& route : make_routes(services_)) {
      routes_.emplace(route.method + " " + route.pattern, std::move(route));
    }
  }

  http::Response ask(const std::string& method, const std::string& rest,
                     const std::string& job = "", std::map<std::string, std::string> query = {}) {
    http::Request request;
    request.method = method;
    request.params = {{"kb", "demo"}, {"job", job}};
    request.query = std::move(query);
    return routes_.at(method + " /knowledgebase/{kb}/strata/jobs" + rest).handler(request);
  }
  static json::object body_of(const http::Response& response) {
    return json::parse(response.body).as_object();
  }
  static std::string text(const json::object& object, std::string_view member) {
    return std::string(object.at(member).as_string());
  }

  http::Response start(const std::string& kind, const std::string& stream, jobs::Work work) {
    return start_job({}, services_, process_.knowledgebase(), {kind, stream}, std::move(work))
        .value();
  }
  std::string started(const http::Response& response) {
    EXPECT_EQ(response.status, 202) << response.body;
    return text(body_of(response), "job");
  }
  json::object show(const std::string& job) {
    const http::Response response = ask("GET", "/{job}", job);
    EXPECT_EQ(response.status, 200) << response.body;
    return body_of(response);
  }
  json::object when(const std::string& job, std::string_view state) {
    json::object shown = show(job);
    while (text(shown, "state") != state || shown.at("progress") == json::value(0))
      shown = show(job);
    return shown;
  }
  void expect_problem(const http::Response& response, int status, std::string_view code) {
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(text(body_of(response), "code"), code) << response.body;
  }

  std::map<std::string, http::Route> routes_;
};

TEST_F(JobsTest, AJobIsShownAsItRunsAndWhenItIsCancelled) {
  const std::string id = started(start("compact", "weather", until_cancelled));
  json::object shown = when(id, "running");
  json::object expected{{"job", id},
                        {"kind", "compact"},
                        {"stream", "weather"},
                        {"state", "running"},
                        {"step", "Matching columns"},
                        {"progress", 0.25},
                        {"created_at", shown.at("created_at")},
                        {"node", "n"}};
  EXPECT_EQ(shown, expected);
  EXPECT_THAT(text(shown, "created_at"), testing::MatchesRegex("2[0-9-]+T[0-9:.]+Z"));

  EXPECT_EQ(ask("DELETE", "/{job}", id).status, 202);
  shown = when(id, "cancelled");
  expected["state"] = "cancelled";
  expected["ended_at"] = shown.at("ended_at");
  EXPECT_EQ(shown, expected);
  expect_problem(ask("DELETE", "/{job}", id), 409, "job_ended");
}

TEST_F(JobsTest, WhatCameOutOfAJobIsItsResultOrItsReason) {
  const std::string done = started(start("compact", "", done_at_once));
  const json::object shown = when(done, "done");
  EXPECT_EQ(shown.at("result"), (json::value{{"views", 6}}));
  EXPECT_EQ(shown.at("progress"), json::value(1));
  EXPECT_FALSE(shown.contains("stream"));
  EXPECT_FALSE(shown.contains("reason"));

  const std::string failed =
      started(start("compact", "", [](jobs::JobProgress& progress) -> Result<std::string> {
        progress.progress(0.5);
        return make_error(Code::kIo, "The disk could not be read.");
      }));
  EXPECT_EQ(text(when(failed, "failed"), "reason"), "The disk could not be read.");
}

TEST_F(JobsTest, WhileOneIsUnderWayAnotherIsRefusedWithItsName) {
  const std::string id = started(start("compact", "weather", until_cancelled));
  const http::Response refused = start("migrate", "", done_at_once);
  expect_problem(refused, 409, "job_running");
  EXPECT_EQ(text(body_of(refused), "job"), id);
}

TEST_F(JobsTest, TheNewestAreListedFirstPageByPage) {
  EXPECT_EQ(body_of(ask("GET", "")), (json::object{{"jobs", json::array()}, {"next", nullptr}}));
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    ids.insert(ids.begin(), started(start("compact", "", done_at_once)));
    when(ids.front(), "done");
  }
  const auto page = [this](std::map<std::string, std::string> query) {
    const json::object body = body_of(ask("GET", "", "", std::move(query)));
    std::vector<std::string> names;
    for (const json::value& job : body.at("jobs").as_array()) {
      names.push_back(text(job.as_object(), "job"));
    }
    return std::pair(names, body.at("next"));
  };
  EXPECT_EQ(page({}), std::pair(ids, json::value()));
  EXPECT_EQ(page({{"limit", "2"}}), std::pair(std::vector{ids[0], ids[1]}, json::value(ids[1])));
  EXPECT_EQ(page({{"limit", "2"}, {"before", ids[1]}}),
            std::pair(std::vector{ids[2]}, json::value()));
  expect_problem(ask("GET", "", "", {{"limit", "0"}}), 400, "bad_request");
}

TEST_F(JobsTest, ItsEventsAreTheWholeJobAndEndWithIt) {
  const std::string id = started(start("compact", "weather", until_cancelled));
  json::object shown = when(id, "running");
  const http::Response watched = ask("GET", "/{job}/events", id);
  ASSERT_TRUE(watched.source);
  EXPECT_THAT(watched.headers,
              testing::Contains(testing::Pair("Content-Type", "text/event-stream")));
  EXPECT_EQ(watched.source->pause(), std::chrono::seconds(1));
  EXPECT_EQ(watched.source->next().value(), "data: " + json::serialize(shown) + "\n\n");
  EXPECT_EQ(watched.source->next().value(), "");

  ASSERT_EQ(ask("DELETE", "/{job}", id).status, 202);
  shown = when(id, "cancelled");
  EXPECT_EQ(watched.source->next().value(), "data: " + json::serialize(shown) + "\n\n");
  EXPECT_EQ(watched.source->next().value(), std::nullopt);

  const http::Response late = ask("GET", "/{job}/events", id);
  EXPECT_EQ(late.source->next().value(), "data: " + json::serialize(shown) + "\n\n");
  EXPECT_EQ(late.source->next().value(), std::nullopt);
}

TEST_F(JobsTest, NoJobOfThatNameIsA404) {
  for (const std::string& name :
       {std::string("0191-none"), std::string("no/job"), std::string(1, '\0')}) {
    expect_problem(ask("GET", "/{job}", name), 404, "unknown_job");
    expect_problem(ask("GET", "/{job}/events", name), 404, "unknown_job");
    expect_problem(ask("DELETE", "/{job}", name), 404, "unknown_job");
  }
}

TEST_F(JobsTest, AJobOfAKbThatIsMovedAsideIsToldToStop) {
  std::atomic<bool> told = false;
  const std::string id = started(start("compact", "", [&](jobs::JobProgress& progress) {
    auto result = until_cancelled(progress);
    told = true;
    return result;
  }));
  when(id, "running");
  ASSERT_OK(process_.streams->remove(process_.knowledgebase()));
  while (!told) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(JobsTest, WithoutTheCatalogEachIsA503) {
  // As after a power cut that the disk did not survive: nothing of it can be read.
  const std::string path = process_.knowledgebase().folder() + "/catalog.sqlite";
  std::ofstream(path, std::ios::trunc) << std::string(8192, 'x');
  for (const auto& [method, rest] : std::vector<std::pair<std::string, std::string>>{
           {"GET", ""}, {"GET", "/{job}"}, {"GET", "/{job}/events"}, {"DELETE", "/{job}"}}) {
    expect_problem(ask(method, rest, "0191-none"), 503, "io_error");
  }
  EXPECT_CODE(Code::kIo,
              start_job({}, services_, process_.knowledgebase(), {"compact"}, done_at_once));
}

}  // namespace
}  // namespace strata::api
