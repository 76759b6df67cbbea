// What jobs promise on every backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "catalog/testing/backends.h"

namespace strata::catalog {
namespace {

constexpr std::chrono::seconds kLease{300};

class JobsContract : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (IsSkipped()) return;
    first_ = backend_->holder();
    second_ = backend_->holder();
  }

  Jobs& one() { return first_->jobs(); }
  Jobs& two() { return second_->jobs(); }

  /// Queued by the first holder.
  void start(const std::string& id) {
    const auto started = one().start({id, "compact", "a", "n-1"});
    ASSERT_TRUE(started) << started.error().detail;
    ASSERT_EQ(*started, std::nullopt);
  }
  JobRow row(const std::string& id) { return two().job(id).value().value(); }
  std::vector<std::string> ids(const JobPage& page) {
    std::vector<std::string> list;
    const auto jobs = two().list(page).value();
    for (const JobRow& job : jobs) list.push_back(job.id);
    return list;
  }

  std::unique_ptr<Catalog> first_;
  std::unique_ptr<Catalog> second_;
};

TEST_P(JobsContract, AJobGoesFromQueuedByItsBeatsToItsEnd) {
  EXPECT_EQ(one().job("j").value(), std::nullopt);
  start("j");
  JobRow expected{.id = "j", .kind = "compact", .subject = "a", .state = "queued", .owner = "n-1"};
  const auto expect_row = [&] {
    const JobRow now = row("j");
    expected.heartbeat = now.heartbeat;
    EXPECT_EQ(now, expected);
    EXPECT_GE(now.heartbeat, now.created);
    EXPECT_LT(now.heartbeat, now.created + std::chrono::hours(1));
  };
  expected.created = row("j").created;
  expect_row();

  EXPECT_EQ(one().beat({"j", "n-1", "it's a step", 250}).value(), JobHold::kOurs);
  expected.state = "running";
  expected.step = "it's a step";
  expected.progress = 250;
  expected.started = row("j").started;
  EXPECT_GE(expected.started, expected.created);
  expect_row();
  EXPECT_EQ(one().beat({"j", "n-1", "match", 999}).value(), JobHold::kOurs);
  expected.step = "match";
  expected.progress = 999;
  expect_row();  // `started` stays

  EXPECT_TRUE(one().end({"j", "n-1", "views", kProgressDone, "done", R"({"rows":3})", ""}).value());
  expected.state = "done";
  expected.step = "views";
  expected.progress = kProgressDone;
  expected.result = R"({"rows":3})";
  expected.ended = row("j").ended;
  EXPECT_GE(expected.ended, expected.started);
  expect_row();
}

TEST_P(JobsContract, OfAKbOneIsUnderWayAndWhoComesLaterIsToldWhich) {
  start("j1");
  const NewJob later{"j2", "migrate", "", "n-2"};
  EXPECT_EQ(two().start(later).value().value(), row("j1"));
  ASSERT_TRUE(one().beat({"j1", "n-1", "", 0}));
  EXPECT_EQ(two().start(later).value().value(), row("j1"));
  EXPECT_EQ(one().start({"j1", "compact", "a", "n-1"}).value(), std::nullopt) << "the same again";
  EXPECT_EQ(ids({.limit = 9}), (std::vector<std::string>{"j1"}));

  ASSERT_TRUE(one().end({"j1", "n-1", "", 0, "failed", "", "no luck"}).value());
  EXPECT_EQ(two().start(later).value(), std::nullopt);
  EXPECT_EQ(row("j1").reason, "no luck");
  EXPECT_EQ(row("j2").owner, "n-2");
}

TEST_P(JobsContract, OfTwoHoldersThatStartAtOnceOneWinsAndBothNameItsJob) {
  for (int round = 0; round < 10; ++round) {
    const std::string names[] = {"a" + std::to_string(round), "b" + std::to_string(round)};
    std::string told[2];
    const auto race = [&](Jobs& jobs, int place) {
      const auto in_the_way = jobs.start({names[place], "compact", "", names[place]});
      ASSERT_TRUE(in_the_way) << in_the_way.error().detail;
      told[place] = *in_the_way ? (*in_the_way)->id : names[place];
    };
    {
      const std::jthread first([&] { race(one(), 0); });
      const std::jthread second([&] { race(two(), 1); });
    }
    EXPECT_EQ(told[0], told[1]);
    const auto newest = two().list({.limit = 1}).value();
    EXPECT_EQ(newest.at(0).id, told[0]);
    ASSERT_TRUE(one().end({told[0], told[0], "", 0, "done", "", ""}).value());
  }
  EXPECT_EQ(ids({.limit = 99}).size(), 10U);
}

TEST_P(JobsContract, OfTwoHoldersThatEndOneJobAtOnceOneDoes) {
  for (int round = 0; round < 10; ++round) {
    const std::string id = "j" + std::to_string(round);
    start(id);
    std::atomic<int> ended = 0;
    const auto race = [&](Jobs& jobs, const std::string& state) {
      const auto was_ours = jobs.end({id, "n-1", state, 0, state, "", ""});
      ASSERT_TRUE(was_ours) << was_ours.error().detail;
      if (*was_ours) ++ended;
    };
    {
      const std::jthread first([&] { race(one(), "done"); });
      const std::jthread second([&] { race(two(), "cancelled"); });
    }
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(row(id).state, row(id).step);
  }
}

TEST_P(JobsContract, WhoseJobItIsNotChangesNothing) {
  start("j");
  const JobRow before = row("j");
  EXPECT_EQ(two().beat({"j", "n-2", "theft", 1}).value(), JobHold::kLost);
  EXPECT_EQ(two().beat({"never", "n-1", "theft", 1}).value(), JobHold::kLost);
  EXPECT_FALSE(two().end({"j", "n-2", "theft", 1, "done", "{}", ""}).value());
  EXPECT_EQ(row("j"), before);

  ASSERT_TRUE(one().end({"j", "n-1", "", 0, "done", "{}", ""}).value());
  const JobRow ended = row("j");
  EXPECT_EQ(one().beat({"j", "n-1", "late", 1}).value(), JobHold::kLost);
  EXPECT_FALSE(one().end({"j", "n-1", "late", 1, "failed", "", "late"}).value());
  EXPECT_EQ(row("j"), ended);
}

TEST_P(JobsContract, ACancelIsAskedOfWhatIsUnderWayAndHeardByItsOwnersNextBeat) {
  EXPECT_FALSE(two().request_cancel("j").value());
  start("j");
  EXPECT_TRUE(two().request_cancel("j").value());
  EXPECT_TRUE(two().request_cancel("j").value());
  EXPECT_TRUE(row("j").cancel_requested);
  EXPECT_EQ(row("j").state, "queued");
  EXPECT_EQ(one().beat({"j", "n-1", "", 0}).value(), JobHold::kCancelAsked);
  ASSERT_TRUE(one().end({"j", "n-1", "", 0, "cancelled", "", ""}).value());
  EXPECT_FALSE(two().request_cancel("j").value());
  EXPECT_EQ(row("j").state, "cancelled");
}

TEST_P(JobsContract, WithoutBeatsForALeaseAJobHasFailedAndCanBeStartedAgain) {
  const struct {
    const char* id;
    bool beats;
    std::chrono::seconds ago;
    bool is_abandoned;
  } cases[] = {{"fresh", true, std::chrono::seconds(0), false},
               {"young", true, kLease / 2, false},
               {"queued", false, kLease * 2, true},
               {"running", true, kLease * 2, true},
               {"from the future", true, -kLease * 2, true}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.id);
    start(c.id);
    if (c.beats) {
      ASSERT_TRUE(one().beat({c.id, "n-1", "match", 10}));
    }
    backend_->age_jobs(c.ago);
    ASSERT_TRUE(two().fail_abandoned(kLease));
    const JobRow found = row(c.id);
    EXPECT_EQ(!found.is_under_way(), c.is_abandoned);
    if (c.is_abandoned) {
      EXPECT_EQ(found.state, "failed");
      EXPECT_EQ(found.reason, kAbandonedReason);
      EXPECT_EQ(found.step, c.beats ? "match" : "");
      EXPECT_GE(found.ended, found.created);
      EXPECT_EQ(one().beat({c.id, "n-1", "late", 20}).value(), JobHold::kLost);
      EXPECT_FALSE(one().end({c.id, "n-1", "late", 20, "done", "{}", ""}).value());
      EXPECT_EQ(row(c.id), found);
    } else {
      ASSERT_TRUE(one().end({c.id, "n-1", "", 0, "done", "", ""}).value());
    }
  }
  const JobRow done = row("fresh");
  backend_->age_jobs(kLease * 2);
  ASSERT_TRUE(two().fail_abandoned(kLease));
  EXPECT_EQ(row("fresh").state, done.state) << "what has ended is left alone";
}

TEST_P(JobsContract, TheNewestAreListedFirstAPageAtATime) {
  EXPECT_EQ(ids({.limit = 9}), std::vector<std::string>{});
  for (const char* id : {"c", "a", "b"}) {  // not in the order of their ids
    start(id);
    ASSERT_TRUE(one().end({id, "n-1", "", 0, "done", "", ""}).value());
  }
  EXPECT_EQ(ids({.limit = 9}), (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_EQ(ids({.limit = 2}), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(ids({.limit = 2, .before = "a"}), (std::vector<std::string>{"c"}));
  EXPECT_EQ(ids({.limit = 2, .before = "c"}), std::vector<std::string>{});
  EXPECT_EQ(ids({.limit = 2, .before = "never"}), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Each, JobsContract, kEachBackend, testing::PrintToStringParamName());

}  // namespace
}  // namespace strata::catalog
