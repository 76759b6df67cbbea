#include "duck/worker_pool.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <iterator>
#include <list>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "duck/process_workbench.h"
#include "duck/worker_error.h"
#include "duck/worker_process.h"
#include "duck/worker_wire.h"

namespace strata::duck {
namespace {

using std::chrono::milliseconds;

/// From the interrupt at the deadline to the kill.
constexpr milliseconds kKillGrace{500};
/// For a new process to open its engine; usually a twentieth of a second.
constexpr milliseconds kStartDeadline{10'000};
/// For an idle worker to say that it is alive; one that does not is replaced.
constexpr milliseconds kPingDeadline{1'000};
constexpr milliseconds kViewsDeadline{10'000};
constexpr milliseconds kDdlDeadline{120'000};
/// Between two frames of an answer that stands whole in the worker.
constexpr milliseconds kFrameDeadline{10'000};
/// For a worker whose socket closed to become a process that ended.
constexpr milliseconds kEndPatience{1'000};
/// What is read of an answer nobody wants any more, rather than starting a new worker.
constexpr std::size_t kDrainBytesMax = 256UL * 1024;
constexpr milliseconds kDrainDeadline{100};

/// Of a workbench's address space: what the engine may use, and as much again for what it does not
/// count, and for itself.
constexpr std::uint64_t kWorkbenchAddressSpaceExtra = 2ULL * 1024 * 1024 * 1024;

SteadyTime now() { return SystemClock().steady(); }

Error timeout_error(milliseconds limit, std::string detail) {
  return make_error(
      Code::kTimeout,
      fmt::format("the query ran longer than {} ms: ask for less, or raise timeout_ms "
                  "(up to {})",
                  limit.count(), limits::kQueryTimeoutCeiling.count()),
      std::move(detail));
}

Error cancelled_error() {
  return make_error(Code::kCancelled,
                    "the query was ended because its client had closed the connection, or its "
                    "sending half: keep both open until the answer is there");
}

Error worker_ended_error(std::string detail) {
  return make_error(Code::kBusy, "the worker ended while it ran the query: send it again",
                    std::move(detail));
}

/// A request whose whole answer is that it was taken.
Result<void> exchange_nothing(const WorkerProcess& process, FrameKind kind,
                              const std::string& payload, SteadyTime deadline) {
  STRATA_RETURN_IF_ERROR(send_frame(process.socket(), kind, payload, deadline));
  for (const FrameKind expected : {FrameKind::kDone, FrameKind::kEnd}) {
    STRATA_ASSIGN_OR_RETURN(const Frame frame, receive_frame(process.socket(), deadline));
    if (frame.kind != expected) return make_error(Code::kInternal, "", "another answer");
  }
  return {};
}

/// It travels in the request's one frame.
Result<void> check_manifest_size(const std::vector<ManifestRow>& manifest) {
  constexpr std::size_t kManifestBytesMax = kFrameBytesMax / 2;
  constexpr std::size_t kBytesPerRow = 64;  // lengths and numbers, rounded up
  std::size_t bytes = 0;
  for (const ManifestRow& row : manifest) {
    bytes += kBytesPerRow + row.table.size() + row.source.size() + row.state.size();
  }
  if (bytes <= kManifestBytesMax) return {};
  return make_error(Code::kOutOfMemory,
                    fmt::format("{} has {} rows, more than a query can take: read the list of "
                                "tables instead (GET .../tables)",
                                kManifestTable, manifest.size()));
}

struct Worker {
  std::unique_ptr<WorkerProcess> process;
  std::string kb_folder;
  std::uint64_t bound = 0;  // when, in forgettings
};

/// What a request may take, and what to say when it takes more.
struct Patience {
  SteadyTime give_up;
  milliseconds limit{0};
  std::stop_token cancel{};
};

class Pool final : public WorkerPool {
 public:
  explicit Pool(const WorkerPoolOptions& options) : options_(options) {
    STRATA_CHECK(options_.workers_max > 0);
  }
  /// No call may be running and no RunningQuery be left: they hold workers of this pool.
  ~Pool() override { STRATA_CHECK(live_ == idle_.size()); }

  Result<std::unique_ptr<RunningQuery>> query(const QuerySpec& spec) override;
  Result<void> run_ddl(const DdlSpec& spec) override;
  Result<std::vector<View>> views(const Source& source) override;
  Result<std::unique_ptr<Workbench>> open_workbench(const WorkbenchSpec& spec) override;
  std::map<std::string, std::uint64_t> deaths() const override;
  void forget(const std::string& kb_folder) override;
  void stop() override {
    spawner_.stop();
    ddl_spawner_.stop();
  }

  // What a running query needs of its pool.

  /// The next frame of an answer. On an error the worker has been ended and counted.
  Result<Frame> receive(Worker& worker, const Patience& patience);
  /// Takes the worker back after the end of its answer; a worn one is ended.
  void give_back(Worker worker, bool worn);
  /// Ends the worker and frees its place; `reason` empty: not a death to count.
  void discard(Worker worker, std::string_view reason);

 private:
  Result<Worker> acquire(const std::string& kb_folder, const Patience& patience);
  Result<void> wait_for_place(std::unique_lock<std::mutex>& lock, const Patience& patience);
  Result<std::unique_ptr<WorkerProcess>> start_process(const SetUpRequest& set_up);
  Result<void> check_sandbox() const;
  bool has_place() const { return !idle_.empty() || live_ < options_.workers_max; }
  std::uint64_t forgettings() const;
  std::list<Worker>::iterator find_idle(const std::string& kb_folder);

  Result<Frame> ask(Worker& worker, FrameKind kind, const std::string& payload,
                    const Patience& patience);
  Result<AnswerEnd> receive_end(Worker& worker, const Patience& patience);
  Error lost(Worker& worker, const Error& cause, const Patience& patience);
  void count_death(std::string_view reason);

  const WorkerPoolOptions options_;
  WorkerSpawner spawner_{options_.program, WorkerSpawner::Birth::kStandingBack};
  WorkerSpawner ddl_spawner_{options_.program, WorkerSpawner::Birth::kEager};  // a landing waits

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::list<Worker> idle_;                                       // the one used last is last
  std::map<std::string, std::uint64_t, std::less<>> forgotten_;  // by folder: when last
  std::uint64_t forgettings_ = 0;
  std::size_t live_ = 0;           // places taken: idle, at work, starting
  std::deque<const void*> queue_;  // who waits for a place, in order of arrival
  std::map<std::string, std::uint64_t, std::less<>> deaths_ = {
      {std::string(kTimeoutReason), 0},     {std::string(kOutOfMemoryReason), 0},
      {std::string(kKilledReason), 0},      {std::string(kCrashedReason), 0},
      {std::string(kSpawnFailedReason), 0},
  };
};

class Answer final : public RunningQuery {
 public:
  Answer(Pool& pool, Worker worker, QueryHead head)
      : pool_(&pool), worker_(std::move(worker)), head_(std::move(head)) {}
  ~Answer() override;
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  const QueryHead& head() const override { return head_; }
  Result<std::optional<std::string>> next() override;

 private:
  Result<std::optional<std::string>> next_within(milliseconds wait);

  Pool* pool_;
  std::optional<Worker> worker_;  // until the answer ended or was cut
  QueryHead head_;
  bool cut_ = false;
};

// --- Places -------------------------------------------------------------------------------------

std::list<Worker>::iterator Pool::find_idle(const std::string& kb_folder) {
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&kb_folder](const Worker& worker) {
    return worker.kb_folder == kb_folder;
  });
  return found == idle_.rend() ? idle_.end() : std::prev(found.base());
}

Result<void> Pool::wait_for_place(std::unique_lock<std::mutex>& lock, const Patience& patience) {
  if (patience.cancel.stop_requested()) return cancelled_error();
  if (queue_.empty() && has_place()) return {};
  if (queue_.size() >= options_.waiting_max) {
    return make_error(Code::kBusy, fmt::format("{} queries are waiting already: send it again in a "
                                               "moment",
                                               queue_.size()));
  }
  // First come, first served: a newcomer that finds a place free behind others' backs still queues.
  const int ticket = 0;
  queue_.push_back(&ticket);
  const bool served = changed_.wait_until(lock, patience.give_up, [this, &ticket, &patience] {
    return patience.cancel.stop_requested() || (queue_.front() == &ticket && has_place());
  });
  std::erase(queue_, &ticket);
  changed_.notify_all();
  if (patience.cancel.stop_requested()) return cancelled_error();
  if (!served) {
    return make_error(Code::kBusy,
                      fmt::format("no worker became free within the query's {} ms: send it again",
                                  patience.limit.count()));
  }
  return {};
}

Result<Worker> Pool::acquire(const std::string& kb_folder, const Patience& patience) {
  std::optional<Worker> known;
  std::optional<Worker> replaced;
  const std::stop_callback wake(patience.cancel, [this] {
    {
      const std::lock_guard lock(mutex_);
    }  // whoever looked just now waits by now
    changed_.notify_all();
  });
  {
    std::unique_lock lock(mutex_);
    STRATA_RETURN_IF_ERROR(wait_for_place(lock, patience));
    if (const auto found = find_idle(kb_folder); found != idle_.end()) {
      known = std::move(*found);
      idle_.erase(found);
    } else if (live_ == options_.workers_max) {
      replaced = std::move(idle_.front());
      idle_.pop_front();
    } else {
      ++live_;
    }
  }
  if (known) {
    if (exchange_nothing(*known->process, FrameKind::kPing, {}, now() + kPingDeadline)) {
      return std::move(*known);
    }
    // Killed while nobody looked: its place is taken by a new one, and no query was lost by it.
    count_death(kKilledReason);
  }
  known.reset();
  replaced.reset();
  Worker worker{.process = nullptr, .kb_folder = kb_folder, .bound = forgettings()};
  auto process = start_process({.kb_folder = kb_folder,
                                .memory_bytes = options_.memory_bytes,
                                .address_space_bytes = options_.address_space_bytes});
  if (!process) {
    discard(std::move(worker), {});
    return process.error();
  }
  worker.process = std::move(process).value();
  return worker;
}

Result<std::unique_ptr<WorkerProcess>> Pool::start_process(const SetUpRequest& set_up) {
  auto process = (set_up.use == WorkerUse::kDdl ? ddl_spawner_ : spawner_).spawn();
  if (!process) {
    count_death(kSpawnFailedReason);
    return process;
  }
  const auto greeted =
      exchange_nothing(**process, FrameKind::kSetUp, encode(set_up), now() + kStartDeadline);
  if (!greeted) {
    count_death(kSpawnFailedReason);
    return make_error(Code::kBusy, "no query worker could be started: send it again in a moment",
                      greeted.error().detail);
  }
  return process;
}

void Pool::discard(Worker worker, std::string_view reason) {
  worker.process.reset();
  if (!reason.empty()) count_death(reason);
  {
    const std::lock_guard lock(mutex_);
    --live_;
  }
  changed_.notify_all();
}

void Pool::give_back(Worker worker, bool worn) {
  {
    const std::lock_guard lock(mutex_);
    const auto forgotten = forgotten_.find(worker.kb_folder);
    worn |= forgotten != forgotten_.end() && worker.bound < forgotten->second;
    if (!worn) idle_.push_back(std::move(worker));
  }
  if (worn) {
    discard(std::move(worker), {});
    return;
  }
  changed_.notify_all();
}

std::uint64_t Pool::forgettings() const {
  const std::lock_guard lock(mutex_);
  return forgettings_;
}

void Pool::forget(const std::string& kb_folder) {
  std::list<Worker> ended;
  {
    const std::lock_guard lock(mutex_);
    forgotten_[kb_folder] = ++forgettings_;
    for (auto worker = idle_.begin(); worker != idle_.end();) {
      const auto next = std::next(worker);
      if (worker->kb_folder == kb_folder) ended.splice(ended.end(), idle_, worker);
      worker = next;
    }
  }
  for (Worker& worker : ended) discard(std::move(worker), {});
}

void Pool::count_death(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  ++deaths_.find(reason)->second;
}

std::map<std::string, std::uint64_t> Pool::deaths() const {
  const std::lock_guard lock(mutex_);
  return {deaths_.begin(), deaths_.end()};
}

// --- Conversations ------------------------------------------------------------------------------

Error Pool::lost(Worker& worker, const Error& cause, const Patience& patience) {
  Worker gone = std::move(worker);
  if (patience.cancel.stop_requested()) {
    discard(std::move(gone), {});
    return cancelled_error();
  }
  if (cause.code == Code::kTimeout) {
    discard(std::move(gone), kTimeoutReason);
    return timeout_error(patience.limit, "killed");
  }
  // Its socket closed, so it is ending: how, decides what the query is told.
  const Ending ending = gone.process->end(kEndPatience);
  switch (ending) {
    case Ending::kOutOfMemory:
      discard(std::move(gone), kOutOfMemoryReason);
      return out_of_memory_error(options_.memory_bytes, "the worker died of it");
    case Ending::kCpuTime:
      discard(std::move(gone), kTimeoutReason);
      return timeout_error(patience.limit, "over its CPU time");
    case Ending::kKilled:
      discard(std::move(gone), kKilledReason);
      return worker_ended_error("killed from outside");
    case Ending::kChosen:
    case Ending::kCrashed:
      break;
  }
  discard(std::move(gone), kCrashedReason);
  return engine_failed_error("the worker crashed: " + cause.detail);
}

Result<Frame> Pool::receive(Worker& worker, const Patience& patience) {
  auto frame = [&] {
    // Ends the wait below; the worker itself is ended by lost().
    const std::stop_callback hang_up(
        patience.cancel, [socket = worker.process->socket()] { ::shutdown(socket, SHUT_RDWR); });
    return receive_frame(worker.process->socket(), patience.give_up);
  }();
  const bool cancelled = patience.cancel.stop_requested();
  if (!frame || cancelled) return lost(worker, frame ? Error{} : frame.error(), patience);
  return frame;
}

Result<AnswerEnd> Pool::receive_end(Worker& worker, const Patience& patience) {
  STRATA_ASSIGN_OR_RETURN(const Frame frame, receive(worker, patience));
  auto end = frame.kind == FrameKind::kEnd
                 ? decode_end(frame.payload)
                 : Result<AnswerEnd>(make_error(Code::kInternal, "", "an answer without its end"));
  if (!end) return lost(worker, end.error(), patience);
  return end;
}

Result<Frame> Pool::ask(Worker& worker, FrameKind kind, const std::string& payload,
                        const Patience& patience) {
  if (const auto sent = send_frame(worker.process->socket(), kind, payload, patience.give_up);
      !sent) {
    return lost(worker, sent.error(), patience);
  }
  STRATA_ASSIGN_OR_RETURN(Frame frame, receive(worker, patience));
  if (frame.kind != FrameKind::kError) return frame;

  Error error = decode_error(frame.payload);
  STRATA_ASSIGN_OR_RETURN(const AnswerEnd end, receive_end(worker, patience));
  if (error.code == Code::kTimeout) {
    discard(std::move(worker), kTimeoutReason);
    return timeout_error(patience.limit, std::move(error.detail));
  }
  if (error.code == Code::kOutOfMemory) {
    discard(std::move(worker), kOutOfMemoryReason);
  } else {
    give_back(std::move(worker), end.worn);
  }
  return error;
}

Result<void> Pool::check_sandbox() const {
  if (options_.sandbox.whole() || options_.unsafe_queries) return {};
  return make_error(Code::kSqlRefused, unsafe_queries_reason(options_.sandbox));
}

Result<std::unique_ptr<RunningQuery>> Pool::query(const QuerySpec& spec) {
  if (spec.sql.size() > limits::kSqlBytesMax) {
    return make_error(Code::kBadRequest,
                      fmt::format("the SQL is {} bytes long, and {} are taken at most",
                                  spec.sql.size(), limits::kSqlBytesMax));
  }
  // DuckDB reads C text: what follows a NUL would not be looked at, nor run.
  if (spec.sql.find('\0') != std::string::npos) {
    return make_error(Code::kBadRequest, "the SQL holds a NUL character: take it out");
  }
  STRATA_RETURN_IF_ERROR(check_sandbox());
  STRATA_RETURN_IF_ERROR(check_manifest_size(spec.manifest));
  const SteadyTime deadline = now() + spec.timeout;
  STRATA_ASSIGN_OR_RETURN(Worker worker,
                          acquire(spec.source.kb_folder, {deadline, spec.timeout, spec.cancel}));
  const auto left = std::chrono::ceil<milliseconds>(deadline - now());
  const QueryRequest request{
      .source = spec.source,
      .sql = spec.sql,
      .format = spec.format,
      .rows_max = spec.rows_max,
      .timeout_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 0)),
      .manifest = spec.manifest};
  const Patience patience{deadline + kKillGrace, spec.timeout, spec.cancel};
  STRATA_ASSIGN_OR_RETURN(const Frame frame,
                          ask(worker, FrameKind::kQuery, encode(request), patience));
  auto head = frame.kind == FrameKind::kHead
                  ? decode_head(frame.payload)
                  : Result<QueryHead>(make_error(Code::kInternal, "", "an answer without a head"));
  if (!head) return lost(worker, head.error(), patience);
  return std::make_unique<Answer>(*this, std::move(worker), std::move(head).value());
}

Result<std::vector<View>> Pool::views(const Source& source) {
  const Patience patience{now() + kViewsDeadline, kViewsDeadline};
  STRATA_ASSIGN_OR_RETURN(Worker worker, acquire(source.kb_folder, patience));
  STRATA_ASSIGN_OR_RETURN(const Frame frame,
                          ask(worker, FrameKind::kViews, encode(source), patience));
  auto views = frame.kind == FrameKind::kViewList
                   ? decode_views(frame.payload)
                   : Result<std::vector<View>>(make_error(Code::kInternal, "", "no list of views"));
  if (!views) return lost(worker, views.error(), patience);
  STRATA_ASSIGN_OR_RETURN(const AnswerEnd end, receive_end(worker, patience));
  give_back(std::move(worker), end.worn);
  return views;
}

Result<void> Pool::run_ddl(const DdlSpec& spec) {
  const auto folder = std::filesystem::path(spec.database_file).parent_path();
  STRATA_ASSIGN_OR_RETURN(const auto process,
                          start_process({.use = WorkerUse::kDdl,
                                         .kb_folder = spec.kb_folder,
                                         .writable_folder = folder.string(),
                                         .memory_bytes = options_.memory_bytes,
                                         .address_space_bytes = options_.address_space_bytes}));
  DdlRequest request{
      .kb_folder = spec.kb_folder, .database_file = spec.database_file, .statements = {}};
  for (const Sql& statement : spec.statements) request.statements.push_back(statement.str());
  const SteadyTime deadline = now() + kDdlDeadline;
  const auto ask_once = [&]() -> Result<Frame> {
    STRATA_RETURN_IF_ERROR(
        send_frame(process->socket(), FrameKind::kDdl, encode(request), deadline));
    return receive_frame(process->socket(), deadline);
  };
  const auto frame = ask_once();
  if (frame && frame->kind == FrameKind::kError) return decode_error(frame->payload);
  if (frame && frame->kind == FrameKind::kDone) {
    // It has closed the file before it said so.
    process->end(kEndPatience);
    return {};
  }
  const bool overran = !frame && frame.error().code == Code::kTimeout;
  const Ending ending = process->end(overran ? milliseconds(0) : kEndPatience);
  if (overran) {
    count_death(kTimeoutReason);
  } else if (ending == Ending::kOutOfMemory) {
    count_death(kOutOfMemoryReason);
  } else {
    count_death(ending == Ending::kKilled ? kKilledReason : kCrashedReason);
  }
  return make_error(Code::kBusy,
                    "the views of this knowledgebase could not be written: the worker ended",
                    frame ? "an answer of no kind" : frame.error().detail);
}

Result<std::unique_ptr<Workbench>> Pool::open_workbench(const WorkbenchSpec& spec) {
  STRATA_ASSIGN_OR_RETURN(
      auto process,
      start_process({.use = WorkerUse::kWorkbench,
                     .kb_folder = spec.kb_folder,
                     .writable_folder = spec.write_folder,
                     .memory_bytes = spec.memory_bytes,
                     .address_space_bytes = 2 * spec.memory_bytes + kWorkbenchAddressSpaceExtra}));
  return make_workbench(std::move(process), spec.cancel,
                        [this](std::string_view reason) { count_death(reason); });
}

// --- One answer ---------------------------------------------------------------------------------

Result<std::optional<std::string>> Answer::next_within(milliseconds wait) {
  if (cut_) return worker_ended_error("cut before");
  if (!worker_) return std::optional<std::string>();
  const Patience patience{now() + wait, wait};
  auto frame = pool_->receive(*worker_, patience);
  if (frame && frame->kind == FrameKind::kRows) {
    return std::optional<std::string>(std::move(frame->payload));
  }
  Worker worker = std::move(*worker_);
  worker_.reset();
  if (!frame) {
    cut_ = true;
    return worker_ended_error(frame.error().detail);
  }
  const auto end = decode_end(frame->payload);
  if (frame->kind != FrameKind::kEnd || !end) {
    cut_ = true;
    pool_->discard(std::move(worker), kCrashedReason);
    return worker_ended_error("an answer without its end");
  }
  pool_->give_back(std::move(worker), end->worn);
  return std::optional<std::string>();
}

Result<std::optional<std::string>> Answer::next() { return next_within(kFrameDeadline); }

Answer::~Answer() {
  // A short rest is read, so that the worker stays; a long one costs more than a new worker.
  std::size_t drained = 0;
  const SteadyTime give_up = now() + kDrainDeadline;
  while (worker_ && drained < kDrainBytesMax && now() < give_up) {
    const auto piece = next_within(kDrainDeadline);
    if (piece && *piece) drained += (*piece)->size();
  }
  if (worker_) pool_->discard(std::move(*worker_), {});
}

}  // namespace

std::unique_ptr<WorkerPool> make_worker_pool(const WorkerPoolOptions& options) {
  return std::make_unique<Pool>(options);
}

}  // namespace strata::duck
