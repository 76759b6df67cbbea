#include "jobs/job_runner.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/ids.h"

namespace strata::jobs {

/// One job that this process took on.
struct JobRunner::Running {
  Running(catalog::Jobs& of, std::string name, const JobRequest& asked, Work what)
      : jobs(of), id(std::move(name)), request(asked), work(std::move(what)) {}

  catalog::Jobs& jobs;
  const std::string id;
  const JobRequest request;
  const Work work;
  JobProgress progress{id};
  bool is_gone() const { return request.is_gone && request.is_gone(); }

  std::atomic<bool> cancel_asked = false;
  std::atomic<bool> lost = false;
  // By the runner's mutex_:
  bool taken = false;     // by a thread
  std::size_t users = 0;  // that look at it without the mutex; it stays until they are done
};

JobRunner::JobRunner(JobRunnerOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock) {
  for (std::size_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { serve(); });
  threads_.emplace_back([this] { beat_until_closed(); });
}

JobRunner::~JobRunner() {
  stop();
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Result<StartedJob> JobRunner::start(catalog::Jobs& jobs, const JobRequest& request, Work work) {
  // A place first: what is queued is also run.
  STRATA_RETURN_IF_ERROR(reserve());
  auto started = queue(jobs, request);
  {
    const std::lock_guard lock(mutex_);
    --reserved_;
    if (started && started->is_new) {
      running_.emplace_back(jobs, started->id, request, std::move(work));
      if (stopping_) running_.back().progress.cancel();
    }
  }
  changed_.notify_all();
  return started;
}

Result<void> JobRunner::reserve() {
  const std::lock_guard lock(mutex_);
  if (stopping_) return make_error(Code::kBusy, "This server stops; ask another, or again later.");
  if (running_.size() + reserved_ >= options_.threads) {
    return make_error(Code::kBusy,
                      "As many jobs as this server runs at once are under way; try again when one "
                      "has ended.");
  }
  ++reserved_;
  return {};
}

Result<StartedJob> JobRunner::queue(catalog::Jobs& jobs, const JobRequest& request) {
  mark_abandoned(jobs);
  const std::string id = uuid_v7(clock_);
  STRATA_ASSIGN_OR_RETURN(
      const auto in_the_way,
      jobs.start(
          {.id = id, .kind = request.kind, .subject = request.subject, .owner = options_.process}));
  if (in_the_way) return StartedJob{.id = in_the_way->id, .is_new = false};
  return StartedJob{.id = id, .is_new = true};
}

Result<catalog::JobRow> JobRunner::find(catalog::Jobs& jobs, const std::string& id) {
  mark_abandoned(jobs);
  STRATA_ASSIGN_OR_RETURN(const auto row, jobs.job(id));
  if (!row) return make_error(Code::kUnknownJob, "This knowledgebase has no such job.");
  return *row;
}

Result<std::vector<catalog::JobRow>> JobRunner::list(catalog::Jobs& jobs,
                                                     const catalog::JobPage& page) {
  mark_abandoned(jobs);
  return jobs.list(page);
}

void JobRunner::mark_abandoned(catalog::Jobs& jobs) {
  {
    // After an outage longer than the lease the next beats of our own may be still to come.
    std::unique_lock lock(mutex_);
    for_each_running(lock, [this, &jobs](Running& job) {
      if (&job.jobs == &jobs) beat(job);
    });
  }
  ignore(jobs.fail_abandoned(options_.lease),
         "a catalog that takes no writes may be read still; the next look marks them");
}

Result<void> JobRunner::request_cancel(catalog::Jobs& jobs, const std::string& id) {
  STRATA_ASSIGN_OR_RETURN(const catalog::JobRow row, find(jobs, id));
  STRATA_ASSIGN_OR_RETURN(const bool asked, jobs.request_cancel(id));
  if (!asked) return make_error(Code::kJobEnded, "The job has ended already; nothing was stopped.");
  const std::lock_guard lock(mutex_);
  for (Running& job : running_) {
    if (job.id != row.id) continue;
    job.cancel_asked = true;
    job.progress.cancel();
  }
  return {};
}

void JobRunner::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  for (Running& job : running_) job.progress.cancel();
  changed_.notify_all();
  changed_.wait_for(lock, options_.stop_wait,
                    [this] { return reserved_ == 0 && running_.empty(); });
  for_each_running(lock, [this](Running& job) {
    ignore(job.jobs.end(ending(job, make_error(Code::kCancelled, std::string(kStoppedReason)))),
           "without its beats it is found abandoned");
  });
}

/// A thread of works.
void JobRunner::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    auto next = running_.end();
    changed_.wait(lock, [&] {
      next = std::ranges::find(running_, false, &Running::taken);
      return closed_ || next != running_.end();
    });
    if (next == running_.end()) return;
    next->taken = true;
    lock.unlock();
    run(*next);
    lock.lock();
    changed_.wait(lock, [next] { return next->users == 0; });
    running_.erase(next);
    changed_.notify_all();
  }
}

void JobRunner::run(Running& job) {
  beat(job);  // from now on it is `running`
  const auto result = job.progress.cancelled()
                          ? Result<std::string>(make_error(Code::kCancelled, "It was cancelled."))
                          : attempt(job);
  if (!result && result.error().code != Code::kCancelled && options_.on_failure) {
    options_.on_failure({job.request.kb, job.id, job.request.kind, result.error()});
  }
  if (!job.lost) write_end(job, ending(job, result));
}

Result<std::string> JobRunner::attempt(Running& job) const {
  try {
    return job.work(job.progress);
  } catch (const std::exception& error) {
    return make_error(Code::kInternal, std::string(kInternalReason), error.what());
  } catch (...) {
    return make_error(Code::kInternal, std::string(kInternalReason), "no std::exception");
  }
}

catalog::JobEnd JobRunner::ending(const Running& job, const Result<std::string>& result) const {
  auto [step, progress] = job.progress.point();
  catalog::JobEnd end{
      .id = job.id, .owner = options_.process, .step = std::move(step), .progress = progress};
  if (result) {
    end.state = "done";
    end.progress = catalog::kProgressDone;
    end.result = *result;
    return end;
  }
  const Error& error = result.error();
  const bool told_to_stop = error.code == Code::kCancelled;
  end.state = told_to_stop && job.cancel_asked ? "cancelled" : "failed";
  if (end.state == "failed") {
    end.reason = told_to_stop && stopping_       ? kStoppedReason
                 : error.code == Code::kInternal ? kInternalReason
                                                 : std::string_view(error.message);
  }
  return end;
}

/// That it is not ours to end is as good as written: then it has ended.
void JobRunner::write_end(Running& job, catalog::JobEnd end) {
  while (true) {
    const auto written = job.jobs.end(end);
    if (written) return;
    if (written.error().code == Code::kInternal) {
      // The catalog is in reach and cannot hold this one, now or later.
      if (options_.on_failure) {
        options_.on_failure({job.request.kb, job.id, job.request.kind, written.error()});
      }
      if (end.reason == kInternalReason) return;
      end.state = "failed";
      end.step.clear();
      end.result.clear();
      end.reason = kInternalReason;
      continue;
    }
    if (job.is_gone() || !goes_on_after_a_pause()) return;
  }
}

bool JobRunner::goes_on_after_a_pause() {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, options_.beat_every, [this] { return stopping_.load(); });
}

/// The thread of the beats.
void JobRunner::beat_until_closed() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, options_.beat_every, [this] { return closed_; })) {
    for_each_running(lock, [this](Running& job) { beat(job); });
  }
}

void JobRunner::beat(Running& job) const {
  auto [step, progress] = job.progress.point();
  const auto hold = job.jobs.beat({job.id, options_.process, std::move(step), progress});
  if (hold ? *hold == catalog::JobHold::kOurs : !job.is_gone()) return;
  (hold && *hold == catalog::JobHold::kCancelAsked ? job.cancel_asked : job.lost) = true;
  job.progress.cancel();
}

void JobRunner::for_each_running(std::unique_lock<std::mutex>& lock,
                                 const std::function<void(Running&)>& act) {
  for (auto job = running_.begin(); job != running_.end(); ++job) {
    ++job->users;
    lock.unlock();
    act(*job);
    lock.lock();
    --job->users;
    changed_.notify_all();
  }
}

}  // namespace strata::jobs
