#include "jobs/job_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catalog/testing/backends.h"

namespace strata::jobs {
namespace {

using catalog::JobRow;
using std::chrono::milliseconds;

constexpr milliseconds kTick{1};
/// Of a runner that is not to beat by itself within a test.
constexpr std::chrono::hours kNever{1};
constexpr std::chrono::seconds kLease{300};

/// A catalog's jobs as this process reaches them: calls fail while it is told so.
class FaultyJobs final : public catalog::Jobs {
 public:
  explicit FaultyJobs(catalog::Jobs& jobs) : jobs_(jobs) {}

  std::atomic<bool> away = false;
  std::atomic<int> failed = 0;            // beats and ends while it was away
  std::atomic<bool> stores_none = false;  // no result, whatever it is

  Result<std::optional<JobRow>> start(const catalog::NewJob& job) override {
    if (away) return fail();
    return jobs_.start(job);
  }
  Result<catalog::JobHold> beat(const catalog::JobBeat& beat) override {
    if (away) return fail();
    return jobs_.beat(beat);
  }
  Result<bool> end(const catalog::JobEnd& end) override {
    if (away) return fail();
    if (stores_none && !end.result.empty()) return make_error(Code::kInternal, "no such encoding");
    return jobs_.end(end);
  }
  Result<bool> request_cancel(const std::string& id) override { return jobs_.request_cancel(id); }
  Result<std::optional<JobRow>> job(const std::string& id) override { return jobs_.job(id); }
  Result<std::vector<JobRow>> list(const catalog::JobPage& page) override {
    return jobs_.list(page);
  }
  Result<void> fail_abandoned(std::chrono::seconds lease) override {
    if (away) return fail();
    return jobs_.fail_abandoned(lease);
  }

 private:
  Error fail() {
    ++failed;
    return make_error(Code::kIo, "The catalog is out of reach.");
  }
  catalog::Jobs& jobs_;
};

/// What a work waits for, so that a test decides when it goes on; one that failed before it did
/// does not hang.
class Gate {
 public:
  void open() { open_ = true; }
  void wait() const {
    const auto given_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!open_ && std::chrono::steady_clock::now() < given_up) {
      std::this_thread::sleep_for(kTick);
    }
  }

 private:
  std::atomic<bool> open_ = false;
};

Result<std::string> until_cancelled(JobProgress& progress) {
  while (!progress.cancelled()) std::this_thread::sleep_for(kTick);
  return make_error(Code::kCancelled, "stopped halfway");
}

class JobRunnerTest : public testing::Test {
 protected:
  std::unique_ptr<JobRunner> make_runner(const std::string& process,
                                         milliseconds beat_every = kTick) {
    JobRunnerOptions options{.process = process};
    options.on_failure = [this](const JobFailure& failure) {
      const std::lock_guard lock(mutex_);
      failures_.push_back(failure.kind + ": " + failure.error.detail);
    };
    options.beat_every = beat_every;
    options.lease = kLease;
    options.threads = 2;
    options.stop_wait = stop_wait_;
    return std::make_unique<JobRunner>(std::move(options), clock_);
  }

  /// A place is free a moment after the row of its job says that it has ended.
  static Result<StartedJob> start_when_free(JobRunner& runner, catalog::Jobs& jobs,
                                            const JobRequest& request, const Work& work) {
    auto started = runner.start(jobs, request, work);
    while (!started && started.error().code == Code::kBusy) {
      std::this_thread::sleep_for(kTick);
      started = runner.start(jobs, request, work);
    }
    return started;
  }

  std::string start(JobRunner& runner, Work work, std::function<bool()> is_gone = {}) {
    ++started_;
    const auto started = start_when_free(
        runner, jobs_, {.kind = "compact", .subject = "a", .is_gone = std::move(is_gone)},
        [this, work = std::move(work)](JobProgress& progress) {
          ++begun_;
          return work(progress);
        });
    EXPECT_TRUE(started && started->is_new);
    return started ? started->id : "";
  }

  JobRow row(const std::string& id) { return catalog_->jobs().job(id).value().value(); }
  JobRow when(const std::string& id, bool (*holds)(const JobRow&)) {
    JobRow now = row(id);
    while (!holds(now)) {
      std::this_thread::sleep_for(kTick);
      now = row(id);
    }
    return now;
  }
  JobRow end_of(const std::string& id) {
    return when(id, [](const JobRow& now) { return !now.is_under_way(); });
  }
  /// Its row says `running` already.
  void wait_until_begun() const {
    while (begun_ < started_) std::this_thread::sleep_for(kTick);
  }
  std::vector<std::string> failures() {
    const std::lock_guard lock(mutex_);
    return failures_;
  }

  const SystemClock clock_;
  milliseconds stop_wait_ = kJobStopWait;
  std::unique_ptr<catalog::Backend> backend_ = make_backend(catalog::Kind::kSqlite);
  std::unique_ptr<catalog::Catalog> catalog_ = backend_->holder();
  FaultyJobs jobs_{catalog_->jobs()};
  int started_ = 0;
  std::atomic<int> begun_ = 0;
  std::mutex mutex_;
  std::vector<std::string> failures_;
};

TEST_F(JobRunnerTest, AWorkIsSeenAtItsStepsAndDoneWithItsResult) {
  Gate gate;
  const auto runner = make_runner("n-1");
  const std::string id = start(*runner, [&gate](JobProgress& progress) -> Result<std::string> {
    progress.step("Matching columns");
    progress.progress(0.25);
    gate.wait();
    progress.step("Views");
    return R"({"views":6})";
  });
  const JobRow halfway = when(id, [](const JobRow& now) { return now.progress == 250; });
  EXPECT_EQ(halfway.state, "running");
  EXPECT_EQ(halfway.step, "Matching columns");
  EXPECT_EQ(halfway.kind, "compact");
  EXPECT_EQ(halfway.subject, "a");
  EXPECT_EQ(halfway.owner, "n-1");
  gate.open();
  const JobRow done = end_of(id);
  EXPECT_EQ(done.state, "done");
  EXPECT_EQ(done.step, "Views");
  EXPECT_EQ(done.progress, catalog::kProgressDone);
  EXPECT_EQ(done.result, R"({"views":6})");
  EXPECT_EQ(done.reason, "");
  EXPECT_EQ(failures(), std::vector<std::string>{});
}

TEST_F(JobRunnerTest, AWorkThatFailsSaysWhyToAnybodyAndTheDetailToTheLogOnly) {
  const struct {
    Work work;
    std::string_view reason;
    std::vector<std::string> logged;
  } cases[] = {
      {[](JobProgress&) { return make_error(Code::kDiskFull, "The disk is full.", "ENOSPC"); },
       "The disk is full.",
       {"compact: ENOSPC"}},
      {[](JobProgress&) { return make_error(Code::kInternal, "secret", "row 3"); },
       kInternalReason,
       {"compact: row 3"}},
      {[](JobProgress&) -> Result<std::string> { throw std::runtime_error("bad cast"); },
       kInternalReason,
       {"compact: bad cast"}},
      {[](JobProgress&) -> Result<std::string> { throw 7; },
       kInternalReason,
       {"compact: no std::exception"}},
      {[](JobProgress&) { return make_error(Code::kCancelled, "Its workers were ended."); },
       "Its workers were ended.",
       {}},
  };
  const auto runner = make_runner("n-1");
  for (const auto& c : cases) {
    SCOPED_TRACE(c.reason);
    failures_.clear();
    const std::string id = start(*runner, [&c](JobProgress& progress) {
      progress.step("Match");
      progress.progress(0.5);
      return c.work(progress);
    });
    const JobRow failed = end_of(id);
    EXPECT_EQ(failed.state, "failed");
    EXPECT_EQ(failed.step, "Match");
    EXPECT_EQ(failed.progress, 500U);
    EXPECT_EQ(failed.reason, c.reason);
    EXPECT_EQ(failed.result, "");
    EXPECT_EQ(failures(), c.logged);
  }
}

TEST_F(JobRunnerTest, ACancelIsHeardAtOnceInItsProcessAndByTheNextBeatInAnother) {
  const auto other = make_runner("n-2", kNever);
  for (const bool from_elsewhere : {false, true}) {
    const auto runner = make_runner("n-1", from_elsewhere ? kTick : milliseconds(kNever));
    const std::string id = start(*runner, until_cancelled);
    wait_until_begun();
    EXPECT_TRUE((from_elsewhere ? *other : *runner).request_cancel(jobs_, id));
    const JobRow cancelled = end_of(id);
    EXPECT_EQ(cancelled.state, "cancelled");
    EXPECT_EQ(cancelled.reason, "");
    EXPECT_EQ(other->request_cancel(jobs_, id).error().code, Code::kJobEnded);
  }
  EXPECT_EQ(other->request_cancel(jobs_, "never").error().code, Code::kUnknownJob);
  EXPECT_EQ(other->find(jobs_, "never").error().code, Code::kUnknownJob);
}

TEST_F(JobRunnerTest, WhatWasDoneWhenTheCancelCameIsDone) {
  const auto runner = make_runner("n-1");
  const std::string id = start(*runner, [](JobProgress& progress) -> Result<std::string> {
    ignore(until_cancelled(progress), "only waits");
    return "{}";
  });
  wait_until_begun();
  ASSERT_TRUE(runner->request_cancel(jobs_, id));
  EXPECT_EQ(end_of(id).state, "done");
}

TEST_F(JobRunnerTest, TheJobInTheWayIsNamedAndNoMoreRunThanThereAreThreads) {
  const auto second = make_backend(catalog::Kind::kSqlite);
  const auto second_catalog = second->holder();
  const auto third = make_backend(catalog::Kind::kSqlite);
  const auto third_catalog = third->holder();
  const auto runner = make_runner("n-1");
  const std::string id = start(*runner, until_cancelled);
  const auto refused = runner->start(jobs_, {"migrate"}, until_cancelled);
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->is_new);
  EXPECT_EQ(refused->id, id);

  ASSERT_TRUE(runner->start(second_catalog->jobs(), {"compact"}, until_cancelled));
  const auto busy = runner->start(third_catalog->jobs(), {"compact"}, until_cancelled);
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, Code::kBusy);
  EXPECT_EQ(third_catalog->jobs().list({.limit = 9}).value(), std::vector<JobRow>{});

  ASSERT_TRUE(runner->request_cancel(jobs_, id));
  end_of(id);
  const auto started =
      start_when_free(*runner, third_catalog->jobs(), {"compact"}, until_cancelled);
  ASSERT_TRUE(started);
  EXPECT_TRUE(started->is_new);
}

TEST_F(JobRunnerTest, OfAJobThatASecondOwnerTookOverTheFirstsEndChangesNothing) {
  Gate gate;
  Gate second_gate;
  std::atomic<bool> told = false;
  const auto first = make_runner("n-1");
  const std::string lost = start(*first, [&](JobProgress& progress) -> Result<std::string> {
    ignore(until_cancelled(progress), "only waits");
    told = true;
    gate.wait();
    return R"({"by":"the first"})";
  });
  wait_until_begun();
  // Paused, as its beats show: none arrives.
  jobs_.away = true;
  const int before = jobs_.failed;
  while (jobs_.failed == before) std::this_thread::sleep_for(kTick);
  EXPECT_FALSE(told);
  backend_->age_jobs(kLease * 2);

  const auto reached = backend_->holder();
  const auto second = make_runner("n-2");
  const auto taken = second->start(reached->jobs(), {"compact"},
                                   [&second_gate](JobProgress&) -> Result<std::string> {
                                     second_gate.wait();
                                     return R"({"by":"the second"})";
                                   });
  ASSERT_TRUE(taken);
  ASSERT_TRUE(taken->is_new);
  const JobRow abandoned = row(lost);
  EXPECT_EQ(abandoned.state, "failed");
  EXPECT_EQ(abandoned.reason, catalog::kAbandonedReason);

  jobs_.away = false;
  while (!told) std::this_thread::sleep_for(kTick);
  gate.open();
  first->stop();
  EXPECT_EQ(row(lost), abandoned);
  second_gate.open();
  EXPECT_EQ(end_of(taken->id).result, R"({"by":"the second"})");
}

TEST_F(JobRunnerTest, ACatalogOutOfReachEndsNoWorkAndTheEndIsWrittenWhenItIsBack) {
  Gate gate;
  std::atomic<bool> was_told = false;
  const auto runner = make_runner("n-1");
  const std::string id = start(*runner, [&](JobProgress& progress) -> Result<std::string> {
    gate.wait();
    was_told = progress.cancelled();
    return "{}";
  });
  wait_until_begun();
  const auto fails_again = [&] {
    const int before = jobs_.failed;
    while (jobs_.failed < before + 5) std::this_thread::sleep_for(kTick);
  };
  jobs_.away = true;
  fails_again();
  gate.open();
  fails_again();
  EXPECT_EQ(row(id).state, "running");
  jobs_.away = false;
  EXPECT_EQ(end_of(id).state, "done");
  EXPECT_FALSE(was_told);
}

TEST_F(JobRunnerTest, AfterAnOutageItsOwnLookDoesNotTakeItsJobForAbandoned) {
  const auto runner = make_runner("n-1", std::chrono::hours(1));
  const std::string id = start(*runner, until_cancelled);
  wait_until_begun();
  backend_->age_jobs(kLease * 2);
  EXPECT_EQ(runner->find(jobs_, id).value().state, "running");
}

TEST_F(JobRunnerTest, OfAKbThatWasMovedAsideTheWorkIsToldAndItsPlaceComesFree) {
  std::atomic<bool> is_gone = false;
  std::atomic<int> told = 0;
  const auto other = make_backend(catalog::Kind::kSqlite);
  const auto other_catalog = other->holder();
  const auto third = make_backend(catalog::Kind::kSqlite);
  const auto third_catalog = third->holder();
  const auto runner = make_runner("n-1");
  for (const bool ends_before : {false, true}) {
    Gate gate;
    is_gone = false;
    start(
        *runner,
        [&](JobProgress& progress) -> Result<std::string> {
          if (ends_before) {
            gate.wait();
            return "{}";
          }
          ignore(until_cancelled(progress), "only waits");
          ++told;
          return make_error(Code::kCancelled, "told");
        },
        [&is_gone] { return is_gone.load(); });
    wait_until_begun();
    jobs_.away = true;
    const int before = jobs_.failed;
    gate.open();
    while (jobs_.failed < before + 5) std::this_thread::sleep_for(kTick);
    EXPECT_EQ(told, ends_before ? 1 : 0);
    is_gone = true;
    // Jobs of two other kbs take both places.
    const auto first =
        start_when_free(*runner, other_catalog->jobs(), {"compact"}, until_cancelled);
    ASSERT_TRUE(first && first->is_new);
    const auto second =
        start_when_free(*runner, third_catalog->jobs(), {"compact"}, until_cancelled);
    ASSERT_TRUE(second && second->is_new);
    for (const auto& [jobs, id] : {std::pair(&other_catalog->jobs(), first->id),
                                   std::pair(&third_catalog->jobs(), second->id)}) {
      ASSERT_TRUE(runner->request_cancel(*jobs, id));
      while (jobs->job(id).value()->is_under_way()) std::this_thread::sleep_for(kTick);
    }
    jobs_.away = false;
    backend_->age_jobs(kLease * 2);
  }
  EXPECT_EQ(told, 1);
}

TEST_F(JobRunnerTest, ACatalogOutOfReachStartsNothing) {
  const auto runner = make_runner("n-1");
  jobs_.away = true;
  const auto refused = runner->start(jobs_, {"compact"}, until_cancelled);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kIo);
  jobs_.away = false;
  EXPECT_EQ(runner->list(jobs_, {.limit = 9}).value(), std::vector<JobRow>{});
}

TEST_F(JobRunnerTest, AResultThatTheCatalogCannotHoldIsAFailure) {
  jobs_.stores_none = true;
  const auto runner = make_runner("n-1");
  const std::string id = start(*runner, [](JobProgress&) -> Result<std::string> { return "\xff"; });
  const JobRow failed = end_of(id);
  EXPECT_EQ(failed.state, "failed");
  EXPECT_EQ(failed.reason, kInternalReason);
}

TEST_F(JobRunnerTest, WhatAnEndedProcessLeftIsMarkedByAnyLookAndCanBeStartedAgain) {
  const auto runner = make_runner("n-2");
  const std::vector<std::pair<std::string, std::function<void()>>> looks{
      {"listed", [&] { ASSERT_TRUE(runner->list(jobs_, {.limit = 1})); }},
      {"shown", [&] { EXPECT_EQ(runner->find(jobs_, "shown").value().state, "failed"); }},
      {"cancelled",
       [&] {
         EXPECT_EQ(runner->request_cancel(jobs_, "cancelled").error().code, Code::kJobEnded);
       }},
      {"started", [&] {
         const auto again = [](JobProgress&) -> Result<std::string> { return "{}"; };
         EXPECT_EQ(end_of(start(*runner, again)).state, "done");
       }}};
  for (const auto& [left, look] : looks) {
    SCOPED_TRACE(left);
    ASSERT_EQ(jobs_.start({left, "compact", "a", "gone-1"}).value(), std::nullopt);
    EXPECT_EQ(runner->start(jobs_, {"compact"}, until_cancelled).value().id, left);
    backend_->age_jobs(kLease * 2);
    look();
    EXPECT_EQ(row(left).state, "failed");
    EXPECT_EQ(row(left).reason, catalog::kAbandonedReason);
  }
}

TEST_F(JobRunnerTest, AStopTellsItsWorksAndWhatGoesOnAllTheSameHasFailed) {
  for (const bool listens : {true, false}) {
    Gate gate;
    stop_wait_ = listens ? milliseconds(kJobStopWait) : kTick;
    auto runner = make_runner("n-1");
    const std::string id = start(*runner, [&](JobProgress& progress) -> Result<std::string> {
      if (listens) return until_cancelled(progress);
      gate.wait();
      return "{}";
    });
    wait_until_begun();
    runner->stop();
    const JobRow stopped = row(id);
    EXPECT_EQ(stopped.state, "failed");
    EXPECT_EQ(stopped.reason, kStoppedReason);
    EXPECT_EQ(runner->start(jobs_, {"compact"}, until_cancelled).error().code, Code::kBusy);
    gate.open();
    runner.reset();
    EXPECT_EQ(row(id), stopped);
  }
}

TEST(JobProgress, KeepsWithinTheWhole) {
  JobProgress progress;
  const struct {
    double whole;
    std::uint64_t thousandths;
  } cases[] = {{0.3339, 333}, {1, 1000}, {7, 1000}, {-1, 0}, {0, 0}};
  for (const auto& [whole, thousandths] : cases) {
    progress.progress(whole);
    EXPECT_EQ(progress.point().progress, thousandths) << whole;
  }
  progress.progress(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(progress.point().progress, 0U);
}

}  // namespace
}  // namespace strata::jobs
