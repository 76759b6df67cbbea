#include "app/serve.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "api/routes.h"
#include "app/listen_address.h"
#include "app/log.h"
#include "app/signals.h"
#include "base/limits.h"
#include "base/scheduling.h"
#include "base/whole_number.h"
#include "catalog/postgres_catalog.h"
#include "duck/copy_batch_writer.h"
#include "http/server.h"
#include "io/posix_file_system.h"
#include "jobs/job_runner.h"
#include "kb/clock_check.h"
#include "kb/heartbeat.h"
#include "lock/redis_kb_lock.h"
#include "lock/redis_url.h"
#include "strata_version.h"

namespace strata::app {
namespace {

constexpr std::size_t kCommitThreads = 8;

/// Nobody beyond this machine gets at a server that asks for no token.
Result<void> check_exposure(const ServeOptions& options, const ListenAddress& address) {
  if (options.auth.metrics_too && !options.auth.required) {
    return make_error(Code::kBadRequest, "--metrics-auth goes with --auth required.");
  }
  if (address.is_loopback() || options.auth.required) return {};
  return make_error(
      Code::kBadRequest,
      fmt::format("--listen {} can be reached from other machines, which needs tokens. Make the "
                  "first one, then start with --auth required: "
                  "strata token create --data {} --scope admin --expires 90d",
                  options.listen, options.data));
}

/// Every stream holds a few folders open.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// Strata's own encoder; `STRATA_ENCODER=copy` puts DuckDB's COPY in its place, so that one can be
/// measured by the other (docs/PERFORMANCE.md).
Result<std::unique_ptr<parquet::BatchWriter>> make_batch_writer() {
  const char* encoder = std::getenv("STRATA_ENCODER");
  if (encoder != nullptr && std::string_view(encoder) == "copy") {
    return duck::make_copy_batch_writer({});
  }
  return parquet::make_batch_writer();
}

/// `STRATA_SANDBOX=none` stands for a kernel that offers nothing: for tests of what is said then.
/// It only ever takes queries away, and a worker goes by what the kernel really has.
duck::SandboxSupport probe_sandbox() {
  const char* sandbox = std::getenv("STRATA_SANDBOX");
  if (sandbox != nullptr && std::string_view(sandbox) == "none") return {};
  return duck::probe_sandbox();
}

/// `STRATA_REDIS_TTL_MS` scales a lock's life down: for tests of what comes after its holder died.
std::chrono::milliseconds redis_lock_ttl() {
  const char* scaled = std::getenv("STRATA_REDIS_TTL_MS");
  const auto number = scaled == nullptr ? std::nullopt : parse_whole_number(scaled);
  return number ? std::chrono::milliseconds(*number) : lock::kRedisLockTtl;
}

void warn_of_lost_lock(const lock::AcquisitionCounter::Key& lost) {
  spdlog::warn(
      "The lock of knowledgebase {} ran out while this process held it for stream {} ({}): it was "
      "paused, or did not reach Redis. Nothing is lost by that: whoever publishes second starts "
      "again from what the first one did.",
      lost.kb, lost.stream, lock::purpose_name(lost.purpose));
}

/// What its row does not say.
void log_job_failure(const jobs::JobFailure& failure) {
  spdlog::error("job {} ({}) of {}: {} [{}]", failure.job, failure.kind, failure.kb,
                failure.error.message, failure.error.detail);
}

/// `STRATA_JOB_LEASE_S` scales the life of a job without a beat down, and the beats with it: for
/// tests of what comes after its node died.
jobs::JobRunnerOptions job_options(const std::string& process) {
  jobs::JobRunnerOptions options{.process = process, .on_failure = log_job_failure};
  const char* scaled = std::getenv("STRATA_JOB_LEASE_S");
  const auto lease = scaled == nullptr ? std::nullopt : parse_whole_number(scaled);
  if (lease && *lease > 0) {
    options.lease = std::chrono::seconds(*lease);
    options.beat_every =
        std::chrono::milliseconds(options.lease) / (jobs::kJobLease / jobs::kBeatEvery);
  }
  return options;
}

constexpr auto kFolderInDoubt =
    "the disk failed to store the names in a folder; look at the disk, then restart Strata";

/// Everything the server is made of, in the order it is built; it goes in the other.
class Composition {
 public:
  static Result<std::unique_ptr<Composition>> build(const ServeOptions& options,
                                                    const ListenAddress& address);
  ~Composition() { stop(); }
  Composition(const Composition&) = delete;
  Composition& operator=(const Composition&) = delete;
  Composition(const ServeOptions& options, ListenAddress address)
      : options_(options), address_(std::move(address)) {}

  Result<void> listen();
  void each_second();
  void stop();
  std::uint16_t port() const { return server_->port(); }

 private:
  Result<void> build_parts();
  Result<void> build_shared();
  Result<void> check_tokens();
  void log_token_problems();

  const ServeOptions options_;
  const ListenAddress address_;
  SystemClock clock_;
  lock::AcquisitionCounter acquisitions_{warn_of_lost_lock};
  api::Metrics metrics_;
  /// A name that may not be on disk stops ingest, whoever's it is.
  std::unique_ptr<io::FileSystem> fs_ =
      io::make_posix_file_system({.on_failed_directory_sync = [this] {
        if (root_) root_->degrade(kFolderInDoubt);
      }});
  std::unique_ptr<catalog::PostgresDatabase> postgres_;
  std::unique_ptr<lock::RedisClient> redis_;
  std::unique_ptr<kb::ClockCheck> clock_check_;
  std::unique_ptr<kb::Root> root_;
  std::unique_ptr<kb::Heartbeat> heartbeat_;
  std::unique_ptr<kb::Tokens> tokens_;
  std::vector<std::string> token_problems_;  // told already
  std::unique_ptr<duck::WorkerPool> query_workers_;
  /// For views and DDL, so that readers who keep every worker busy cannot hold up a first landing.
  std::unique_ptr<duck::WorkerPool> own_workers_;
  std::unique_ptr<parquet::BatchWriter> writer_;
  std::unique_ptr<kb::Knowledgebases> knowledgebases_;
  std::unique_ptr<stream::StreamServices> stream_services_;
  std::unique_ptr<stream::IndexJob> indexes_;
  std::unique_ptr<stream::ViewJob> views_;
  std::unique_ptr<stream::Streams> streams_;
  std::unique_ptr<jobs::JobRunner> jobs_;
  std::unique_ptr<api::Services> services_;
  std::unique_ptr<http::Server> server_;
  std::atomic<http::Server*> serving_ = nullptr;
};

Result<std::unique_ptr<Composition>> Composition::build(const ServeOptions& options,
                                                        const ListenAddress& address) {
  auto composition = std::make_unique<Composition>(options, address);
  STRATA_RETURN_IF_ERROR(composition->build_parts());
  return composition;
}

Result<void> Composition::build_parts() {
  STRATA_RETURN_IF_ERROR(duck::check_library_version());
  STRATA_RETURN_IF_ERROR(build_shared());
  STRATA_ASSIGN_OR_RETURN(root_, kb::Root::open(*fs_, clock_,
                                                {.path = options_.data,
                                                 .node = options_.node,
                                                 .shared = {.postgres = postgres_.get(),
                                                            .redis = redis_.get(),
                                                            .redis_ttl = redis_lock_ttl()}}));
  heartbeat_ = std::make_unique<kb::Heartbeat>(
      kb::Heartbeat::Options{*root_, clock_, kVersion, clock_check_.get()});
  tokens_ = kb::Tokens::open(*fs_, clock_, root_->directory());
  STRATA_RETURN_IF_ERROR(check_tokens());
  const duck::SandboxSupport sandbox = probe_sandbox();
  if (!sandbox.whole()) {
    spdlog::warn("{}", options_.unsafe_queries
                           ? "Queries are run unsafely, as --unsafe-queries says."
                           : duck::unsafe_queries_reason(sandbox));
  }
  query_workers_ = duck::make_worker_pool(
      {.program = options_.program, .sandbox = sandbox, .unsafe_queries = options_.unsafe_queries});
  own_workers_ = duck::make_worker_pool({.program = options_.program, .workers_max = 1});
  STRATA_ASSIGN_OR_RETURN(writer_, make_batch_writer());
  knowledgebases_ = kb::Knowledgebases::create({.fs = *fs_,
                                                .clock = clock_,
                                                .root = *root_,
                                                .workers = *own_workers_,
                                                .acquisitions = acquisitions_,
                                                .on_gone = [this](const std::string& folder) {
                                                  query_workers_->forget(folder);
                                                  own_workers_->forget(folder);
                                                }});
  stream_services_ = std::make_unique<stream::StreamServices>(*fs_, clock_, *root_, *writer_);
  indexes_ = std::make_unique<stream::IndexJob>();
  views_ = std::make_unique<stream::ViewJob>(*indexes_);
  streams_ =
      std::make_unique<stream::Streams>(*stream_services_, *knowledgebases_, *indexes_, *views_);
  jobs_ = std::make_unique<jobs::JobRunner>(job_options(root_->process()), clock_);
  services_ = std::make_unique<api::Services>(
      clock_, *root_, *tokens_, options_.auth, *knowledgebases_, *query_workers_, *own_workers_,
      *stream_services_, *streams_, *views_, *jobs_, acquisitions_, metrics_, kVersion, sandbox,
      options_.unsafe_queries, clock_check_.get());
  STRATA_RETURN_IF_ERROR(streams_->open_all());
  for (const std::string& problem : streams_->problems()) spdlog::error("{}", problem);
  return {};
}

/// A node starts while they are away.
Result<void> Composition::build_shared() {
  if (!options_.postgres.empty()) {
    STRATA_ASSIGN_OR_RETURN(postgres_,
                            catalog::make_postgres_database({.url = options_.postgres}, clock_));
    clock_check_ =
        std::make_unique<kb::ClockCheck>(catalog::make_postgres_root_catalog(*postgres_), clock_);
    ignore(clock_check_->compare(), "the heartbeat goes on trying");
  }
  if (!options_.redis.empty()) {
    STRATA_ASSIGN_OR_RETURN(lock::RedisAddress address, lock::parse_redis_url(options_.redis));
    redis_ = std::make_unique<lock::RedisClient>(std::move(address));
  }
  return {};
}

/// A root without a valid token is no reason not to serve this machine: the first one can be made
/// beside the running server.
Result<void> Composition::check_tokens() {
  if (!options_.auth.required) return {};
  STRATA_ASSIGN_OR_RETURN(const auto tokens, tokens_->list());
  log_token_problems();
  const bool has_valid = std::ranges::any_of(
      tokens, [this](const kb::Token& token) { return token.valid_at(clock_.wall()); });
  if (has_valid) return {};
  const std::string remedy = fmt::format(
      "There is no valid token yet. Make the first one, as the user who runs the server: "
      "strata token create --data {} --scope admin --expires 90d",
      options_.data);
  if (!address_.is_loopback()) return make_error(Code::kConflict, remedy);
  spdlog::warn("{}", remedy);
  return {};
}

void Composition::log_token_problems() {
  std::vector<std::string> problems = tokens_->problems();
  if (problems == token_problems_) return;
  for (const std::string& problem : problems) spdlog::error("{}", problem);
  token_problems_ = std::move(problems);
}

Result<void> Composition::listen() {
  http::ServerOptions options;
  options.address = address_.host;
  options.port = address_.port;
  options.commit_threads = kCommitThreads;
  options.clock = &clock_;
  options.access_log = access_log(options_.log_format);
  options.error_page = [this](const Error& error, const http::Request& head) {
    return api::error_page(error, head, *services_);
  };
  std::set<std::string> hosts = options_.allowed_hosts;
  hosts.insert(address_.host_name());
  options.guard = [hosts](const http::Request& head) { return api::guard(head, hosts); };
  // The first request may come before start() has returned.
  metrics_.on_look(
      [this] { return api::readings(*services_, serving_.load(std::memory_order_acquire)); });
  STRATA_ASSIGN_OR_RETURN(server_,
                          http::Server::start(std::move(options), api::make_routes(*services_)));
  serving_.store(server_.get(), std::memory_order_release);
  return {};
}

void Composition::each_second() {
  streams_->tick();
  log_token_problems();
}

void Composition::stop() {
  // Handlers that wait for a worker past the server's own deadline would hold up its stop.
  std::promise<void> stopped;
  std::thread deadline([this, over = stopped.get_future()] {
    if (over.wait_for(limits::kStopDeadline) == std::future_status::ready) return;
    if (query_workers_) query_workers_->stop();
    if (own_workers_) own_workers_->stop();
  });
  if (server_) server_->stop();
  jobs_.reset();  // waits for its works: what they borrow goes after them
  if (views_) views_->stop();
  if (indexes_) indexes_->stop();
  stopped.set_value();
  deadline.join();
  if (streams_) streams_->close();
}

}  // namespace

Result<void> serve(const ServeOptions& options) {
  STRATA_ASSIGN_OR_RETURN(const ListenAddress address, parse_listen_address(options.listen));
  STRATA_RETURN_IF_ERROR(check_exposure(options, address));
  block_stop_signals();
  raise_descriptor_limit();
  // A query that came first is not to hold up what lands.
  run_promptly();
  start_log(options.log_format);
  STRATA_ASSIGN_OR_RETURN(const auto composition, Composition::build(options, address));
  STRATA_RETURN_IF_ERROR(composition->listen());
  spdlog::info("listening on http://{}:{}", address.host_name(), composition->port());
  wait_for_stop([&] { composition->each_second(); });
  spdlog::info("stopping");
  composition->stop();
  return {};
}

}  // namespace strata::app
