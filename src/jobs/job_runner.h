#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "catalog/jobs.h"
#include "jobs/job_progress.h"

/// Work that goes on after the request that asked for it (architecture.md, "The catalog"). Who
/// works on what is in the catalog; this runs what this process took on.
namespace strata::jobs {

/// How often a job's row is told that its owner lives, and without how much of that it is taken for
/// abandoned: five beats may be lost.
inline constexpr std::chrono::seconds kBeatEvery{5};
inline constexpr std::chrono::seconds kJobLease{30};
/// Jobs of all kbs that one process works on at once.
inline constexpr std::size_t kJobThreads = 4;
/// How long a stop waits for works that were told to stop.
inline constexpr std::chrono::seconds kJobStopWait{10};

inline constexpr std::string_view kStoppedReason = "The server was stopped; start it again.";
inline constexpr std::string_view kInternalReason =
    "Something went wrong in Strata; the log of the node that worked on it says more.";

/// What a job does: it answers its result as JSON, or why it failed. Runs once, on a thread of the
/// runner's; what it borrows outlives the runner. What it throws is kInternal.
using Work = std::function<Result<std::string>(JobProgress& progress)>;

struct JobRequest {
  std::string kind;
  std::string subject = {};  // the stream; empty: the kb itself
  std::string kb = {};       // for the log
  /// Whether the kb was moved aside, asked when its catalog cannot be written: what ran for it is
  /// told to stop then, and its end is nobody's any more. None: it never is.
  std::function<bool()> is_gone = {};
};

/// Not `is_new`: nothing was started, because the job `id` of this kb is under way.
struct StartedJob {
  std::string id;
  bool is_new = false;
};

/// A work that failed, for the log: what its row says is for anybody.
struct JobFailure {
  std::string kb;
  std::string job;
  std::string kind;
  Error error;
};

struct JobRunnerOptions {
  std::string process;  // `<node>-<boot>-<pid>`, owns what is started here
  std::function<void(const JobFailure&)> on_failure = {};
  std::chrono::milliseconds beat_every = kBeatEvery;
  std::chrono::seconds lease = kJobLease;
  std::size_t threads = kJobThreads;
  std::chrono::milliseconds stop_wait = kJobStopWait;
};

/// Runs jobs, and looks at those of all processes. A job ends once, by who owns it, or as failed
/// when its process gave no sign for a lease, which every start, list and find looks for; from then
/// on what its work does changes no row. A catalog out of reach ends no work: beats and the end are
/// tried again until they are written or the process stops. Thread-safe; each catalog::Jobs it is
/// given outlives it.
class JobRunner {
 public:
  /// `clock` outlives it.
  JobRunner(JobRunnerOptions options, const Clock& clock);
  /// stop(), then waits for works however long they take.
  ~JobRunner();
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

  /// Returns before the work is done. kBusy: as many jobs run here as may, or it stops; errors of
  /// the catalog, after which nothing runs.
  Result<StartedJob> start(catalog::Jobs& jobs, const JobRequest& request, Work work);
  /// kUnknownJob.
  Result<catalog::JobRow> find(catalog::Jobs& jobs, const std::string& id);
  Result<std::vector<catalog::JobRow>> list(catalog::Jobs& jobs, const catalog::JobPage& page);
  /// Asks whoever owns it to stop: heard at once if it runs here, else by the owner's next beat.
  /// kUnknownJob, kJobEnded.
  Result<void> request_cancel(catalog::Jobs& jobs, const std::string& id);

  /// Tells all works to stop and waits for them, not longer than `stop_wait`: what goes on then has
  /// failed all the same. Starts nothing more. Idempotent.
  void stop();

 private:
  struct Running;

  Result<void> reserve();
  Result<StartedJob> queue(catalog::Jobs& jobs, const JobRequest& request);
  void mark_abandoned(catalog::Jobs& jobs);
  void serve();
  void run(Running& job);
  Result<std::string> attempt(Running& job) const;
  catalog::JobEnd ending(const Running& job, const Result<std::string>& result) const;
  void write_end(Running& job, catalog::JobEnd end);
  bool goes_on_after_a_pause();
  void beat_until_closed();
  void beat(Running& job) const;
  /// Calls `act` on each without the mutex, which `lock` holds before and after.
  void for_each_running(std::unique_lock<std::mutex>& lock,
                        const std::function<void(Running&)>& act);

  const JobRunnerOptions options_;
  const Clock& clock_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // By mutex_:
  std::list<Running> running_;  // at most as many as there are threads
  std::size_t reserved_ = 0;    // places of jobs that are being queued
  bool closed_ = false;         // threads end

  std::atomic<bool> stopping_ = false;  // changed with mutex_ held
  std::vector<std::thread> threads_;    // works', and last that of the beats
};

}  // namespace strata::jobs
