#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "base/error.h"
#include "duck/sql.h"
#include "stream/index_job.h"
#include "stream/stream.h"

namespace strata::stream {

/// The stream's view, literally (architecture.md, "The view, literally").
duck::Sql view_ddl(const Stream& stream);
/// What it reads, as it stands after FROM: the registered columns, filename, _batch_id.
duck::Sql rows_of(const Stream& stream);

/// Sees to it that the newest generation of each kb holds the views of its streams. One thread runs
/// one job per kb at a time for all streams of that kb that wait: it looks in the newest
/// generation, takes the kb lock only if a view is missing (and is still when the lock comes free),
/// looks again, and publishes one generation. Thread-safe.
class ViewJob {
 public:
  /// `indexes` is told of views that are there, and outlives it.
  explicit ViewJob(IndexJob& indexes);
  ~ViewJob();
  ViewJob(const ViewJob&) = delete;
  ViewJob& operator=(const ViewJob&) = delete;

  /// Asks for the stream's view; returns at once. Does nothing when it is ready. The stream must
  /// outlive this, or stop() come before its end.
  void want(Stream& stream);
  /// The same, and waits until it is ready, a job that tried for it has ended, or `wait` is over.
  /// Whether it is ready.
  bool want_and_wait(Stream& stream, std::chrono::milliseconds wait);
  /// The same, but does not wait where others do already: landings must not fill the commit threads
  /// with waiting, however long the view takes.
  bool want_and_wait_if_few(Stream& stream, std::chrono::milliseconds wait);
  /// Has it looked at again whether the view is there, though it was; returns at once.
  void look_again(Stream& stream);
  /// Looks again whatever was known, for the Re-sync button; waits for the job. Counted as
  /// `resync` if it has to take the lock.
  Result<void> resync(Stream& stream);

  /// Ends the thread; a job that runs is finished first. Idempotent.
  void stop();

 private:
  struct Waiting {
    std::set<Stream*> streams;
    kb::Purpose purpose = kb::Purpose::kView;
  };
  void run();
  void enqueue(Stream& stream, kb::Purpose purpose);
  /// With mutex_ held: whether no job that may still see to `stream` is queued or running.
  bool settled(const Stream& stream) const;

  IndexJob& indexes_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::map<kb::Knowledgebase*, Waiting> waiting_;
  const kb::Knowledgebase* running_ = nullptr;
  bool stopping_ = false;
  int landings_waiting_ = 0;
  std::thread thread_;
};

}  // namespace strata::stream
