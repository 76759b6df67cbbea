#include "stream/view_job.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"

namespace strata::stream {
namespace {

constexpr std::chrono::milliseconds kResyncWait{15'000};
constexpr std::chrono::milliseconds kLockWait{10'000};
constexpr std::chrono::milliseconds kLockPoll{10};
/// Of eight commit threads.
constexpr int kLandingsWaitingMax = 2;

duck::Sql data_glob(const Stream& stream) {
  return duck::Sql().glob(stream.data_path(), "/**/*.parquet");
}

struct Missing {
  std::vector<Stream*> streams;
  bool moved = false;  // a view is there, over another folder: the kb was moved or copied
};

/// Marks the streams whose view over their own folder the newest generation holds; answers the
/// others.
Result<Missing> look(kb::Knowledgebase& knowledgebase, const std::vector<Stream*>& streams) {
  STRATA_ASSIGN_OR_RETURN(const kb::Generation newest, knowledgebase.generations().newest());
  STRATA_ASSIGN_OR_RETURN(const auto views, knowledgebase.generations().views(newest));
  Missing missing;
  for (Stream* stream : streams) {
    // Its folder was moved aside: a view made now would outlive it, and whoever moved it takes the
    // lock after that to take the view away.
    if (const auto there = stream->in_place(); there && !*there) continue;
    const std::string name = "stream_" + stream->id().str();
    const auto view = std::ranges::find_if(views, [&](const duck::View& candidate) {
      return candidate.schema == "raw_extracted" && candidate.name == name;
    });
    const std::string glob = data_glob(*stream).str();
    if (view != views.end() && view->sql.find(glob) != std::string::npos) {
      stream->set_view_ready();
      continue;
    }
    missing.moved |= view != views.end();
    missing.streams.push_back(stream);
  }
  return missing;
}

struct Held {
  std::unique_ptr<lock::Lease> lease;
  Missing missing;
};

/// The lock, and what is missing under it: nothing where whoever held it made the views meanwhile,
/// for then it is not taken at all. So processes that miss a view at once take it once in all, but
/// for one that looked just before the other's view was there and tried just after.
Result<Held> acquire_if_missing(kb::Knowledgebase& knowledgebase,
                                const std::vector<Stream*>& streams, kb::Purpose purpose) {
  const SystemClock clock;
  const SteadyTime deadline = clock.steady() + kLockWait;
  while (true) {
    STRATA_ASSIGN_OR_RETURN(Missing missing, look(knowledgebase, streams));
    if (missing.streams.empty()) return Held{};
    const bool moved = missing.moved && purpose == kb::Purpose::kView;
    auto lease = knowledgebase.lock().acquire({.kb = knowledgebase.id().str(),
                                               .stream = missing.streams.front()->id().str(),
                                               .purpose = moved ? kb::Purpose::kRelocate : purpose,
                                               .wait = {}});
    if (lease) {
      STRATA_ASSIGN_OR_RETURN(missing, look(knowledgebase, missing.streams));
      return Held{std::move(lease).value(), std::move(missing)};
    }
    if (lease.error().code != Code::kBusy || clock.steady() >= deadline) return lease.error();
    std::this_thread::sleep_for(kLockPoll);
  }
}

Result<void> bring_up(kb::Knowledgebase& knowledgebase, const std::vector<Stream*>& streams,
                      kb::Purpose purpose, IndexJob& indexes) {
  STRATA_ASSIGN_OR_RETURN(const auto held, acquire_if_missing(knowledgebase, streams, purpose));
  const Missing& missing = held.missing;
  if (missing.streams.empty()) return {};
  std::vector<duck::Sql> ddl;
  for (const Stream* stream : missing.streams) ddl.push_back(view_ddl(*stream));
  STRATA_ASSIGN_OR_RETURN(const auto published, knowledgebase.generations().publish(ddl));
  for (Stream* stream : missing.streams) {
    stream->set_view_ready();
    indexes.want(*stream);
  }
  return {};
}

}  // namespace

duck::Sql view_ddl(const Stream& stream) {
  duck::Sql sql;
  sql.raw("CREATE OR REPLACE VIEW raw_extracted.")
      .ident("stream_" + stream.id().str())
      .raw(" AS SELECT * EXCLUDE (filename, _batch_id), filename, _batch_id FROM ")
      .append(rows_of(stream));
  return sql;
}

duck::Sql rows_of(const Stream& stream) {
  return duck::Sql("read_parquet(")
      .append(data_glob(stream))
      .raw(", union_by_name=true, filename=true, hive_partitioning=false)");
}

ViewJob::ViewJob(IndexJob& indexes) : indexes_(indexes), thread_([this] { run(); }) {}

ViewJob::~ViewJob() { stop(); }

void ViewJob::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  done_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool ViewJob::settled(const Stream& stream) const {
  // Queued streams of a kb wait for the job that runs for it now: that one may have looked before
  // their first file landed, so the next one counts.
  return running_ != &stream.knowledgebase() && !waiting_.contains(&stream.knowledgebase());
}

void ViewJob::enqueue(Stream& stream, kb::Purpose purpose) {
  const std::lock_guard lock(mutex_);
  Waiting& waiting = waiting_[&stream.knowledgebase()];
  waiting.streams.insert(&stream);
  if (purpose == kb::Purpose::kResync) waiting.purpose = purpose;
  work_.notify_one();
}

void ViewJob::want(Stream& stream) {
  if (!stream.view_ready()) enqueue(stream, kb::Purpose::kView);
}

void ViewJob::look_again(Stream& stream) { enqueue(stream, kb::Purpose::kView); }

bool ViewJob::want_and_wait(Stream& stream, std::chrono::milliseconds wait) {
  if (stream.view_ready()) return true;
  enqueue(stream, kb::Purpose::kView);
  std::unique_lock lock(mutex_);
  done_.wait_for(lock, wait, [&] { return stream.view_ready() || stopping_ || settled(stream); });
  return stream.view_ready();
}

bool ViewJob::want_and_wait_if_few(Stream& stream, std::chrono::milliseconds wait) {
  if (stream.view_ready()) return true;
  {
    const std::lock_guard lock(mutex_);
    // A view that failed once is tried again, but not waited for.
    if (landings_waiting_ >= kLandingsWaitingMax || stream.view_state() == ViewState::kError) {
      wait = {};
    }
    ++landings_waiting_;
  }
  const bool ready = want_and_wait(stream, wait);
  const std::lock_guard lock(mutex_);
  --landings_waiting_;
  return ready;
}

Result<void> ViewJob::resync(Stream& stream) {
  enqueue(stream, kb::Purpose::kResync);
  std::unique_lock lock(mutex_);
  const bool ended =
      done_.wait_for(lock, kResyncWait, [&] { return stopping_ || settled(stream); });
  if (!ended) return make_error(Code::kBusy, "the view is still being looked at; try again soon.");
  return {};
}

void ViewJob::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    auto node = waiting_.extract(waiting_.begin());
    running_ = node.key();
    lock.unlock();

    const std::vector<Stream*> streams(node.mapped().streams.begin(), node.mapped().streams.end());
    const auto done = bring_up(*node.key(), streams, node.mapped().purpose, indexes_);
    for (Stream* stream : streams) {
      if (!done && !stream->view_ready()) stream->set_view_error(done.error().message);
    }

    lock.lock();
    running_ = nullptr;
    done_.notify_all();
  }
}

}  // namespace strata::stream
