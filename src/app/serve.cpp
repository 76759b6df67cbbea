#include "app/serve.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <atomic>
#include <charconv>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "api/routes.h"
#include "app/log.h"
#include "app/signals.h"
#include "base/limits.h"
#include "duck/copy_batch_writer.h"
#include "http/server.h"
#include "io/posix_file_system.h"
#include "strata_version.h"

namespace strata::app {
namespace {

constexpr std::size_t kCommitThreads = 8;

struct Address {
  std::string host;
  std::uint16_t port = 0;
};

Result<Address> parse_address(const std::string& text) {
  const Error bad =
      make_error(Code::kBadRequest,
                 fmt::format("--listen takes HOST:PORT, such as 127.0.0.1:8080, not '{}'.", text));
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return bad;
  Address address{.host = text.substr(0, colon)};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || stop != end) return bad;
  if (address.host == "localhost") address.host = "127.0.0.1";
  if (address.host == "[::1]") address.host = "::1";
  if (address.host != "::1" && !address.host.starts_with("127.")) {
    return make_error(Code::kBadRequest,
                      "Strata listens on this machine's own addresses only until tokens are built: "
                      "use --listen 127.0.0.1:8080.");
  }
  return address;
}

/// Every stream holds a few folders open.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// Everything the server is made of, in the order it is built; it goes in the other.
class Composition {
 public:
  static Result<std::unique_ptr<Composition>> build(const ServeOptions& options);
  ~Composition() { stop(); }
  Composition(const Composition&) = delete;
  Composition& operator=(const Composition&) = delete;
  explicit Composition(const ServeOptions& options) : options_(options) {}

  Result<void> listen(const Address& address);
  void each_second();
  void stop();
  std::uint16_t port() const { return server_->port(); }

 private:
  Result<void> build_parts();

  const ServeOptions options_;
  SystemClock clock_;
  lock::AcquisitionCounter acquisitions_;
  api::Metrics metrics_;
  std::unique_ptr<io::FileSystem> fs_ = io::make_posix_file_system();
  std::unique_ptr<kb::Root> root_;
  std::unique_ptr<duck::WorkerPool> query_workers_;
  /// For views and DDL, so that readers who keep every worker busy cannot hold up a first landing.
  std::unique_ptr<duck::WorkerPool> own_workers_;
  std::unique_ptr<parquet::BatchWriter> writer_;
  std::unique_ptr<kb::Knowledgebases> knowledgebases_;
  std::unique_ptr<stream::StreamServices> stream_services_;
  std::unique_ptr<stream::ViewJob> views_;
  std::unique_ptr<stream::Streams> streams_;
  std::unique_ptr<api::Services> services_;
  std::unique_ptr<http::Server> server_;
  std::atomic<http::Server*> serving_ = nullptr;
};

Result<std::unique_ptr<Composition>> Composition::build(const ServeOptions& options) {
  auto composition = std::make_unique<Composition>(options);
  STRATA_RETURN_IF_ERROR(composition->build_parts());
  return composition;
}

Result<void> Composition::build_parts() {
  STRATA_RETURN_IF_ERROR(duck::check_library_version());
  STRATA_ASSIGN_OR_RETURN(
      root_, kb::Root::open(*fs_, clock_, {.path = options_.data, .node = options_.node}));
  query_workers_ = duck::make_worker_pool({.program = options_.program});
  own_workers_ = duck::make_worker_pool({.program = options_.program, .workers_max = 1});
  STRATA_ASSIGN_OR_RETURN(writer_, duck::make_copy_batch_writer({}));
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
  views_ = std::make_unique<stream::ViewJob>();
  streams_ = std::make_unique<stream::Streams>(*stream_services_, *knowledgebases_, *views_);
  services_ = std::make_unique<api::Services>(clock_, *root_, *knowledgebases_, *query_workers_,
                                              *own_workers_, *stream_services_, *streams_, *views_,
                                              acquisitions_, metrics_, kVersion);
  STRATA_RETURN_IF_ERROR(streams_->open_all());
  for (const std::string& problem : streams_->problems()) spdlog::error("{}", problem);
  return {};
}

Result<void> Composition::listen(const Address& address) {
  http::ServerOptions options;
  options.address = address.host;
  options.port = address.port;
  options.commit_threads = kCommitThreads;
  options.clock = &clock_;
  options.access_log = access_log(options_.log_format);
  options.error_page = [this](const Error& error, const http::Request& head) {
    return api::error_page(error, head, *services_);
  };
  std::set<std::string> hosts = options_.allowed_hosts;
  hosts.insert(address.host);
  options.guard = [hosts](const http::Request& head) { return api::guard(head, hosts); };
  // The first request may come before start() has returned.
  metrics_.on_look([this] {
    const http::Server* serving = serving_.load(std::memory_order_acquire);
    return api::readings(*services_, serving == nullptr ? 0 : serving->commit_queue());
  });
  STRATA_ASSIGN_OR_RETURN(server_,
                          http::Server::start(std::move(options), api::make_routes(*services_)));
  serving_.store(server_.get(), std::memory_order_release);
  return {};
}

void Composition::each_second() { streams_->tick(); }

void Composition::stop() {
  // Handlers that wait for a worker past the server's own deadline would hold up its stop.
  std::promise<void> stopped;
  std::thread deadline([this, over = stopped.get_future()] {
    if (over.wait_for(limits::kStopDeadline) == std::future_status::ready) return;
    if (query_workers_) query_workers_->stop();
    if (own_workers_) own_workers_->stop();
  });
  if (server_) server_->stop();
  if (views_) views_->stop();
  stopped.set_value();
  deadline.join();
  if (streams_) streams_->close();
}

}  // namespace

Result<void> serve(const ServeOptions& options) {
  STRATA_ASSIGN_OR_RETURN(const Address address, parse_address(options.listen));
  block_stop_signals();
  raise_descriptor_limit();
  start_log(options.log_format);
  STRATA_ASSIGN_OR_RETURN(const auto composition, Composition::build(options));
  STRATA_RETURN_IF_ERROR(composition->listen(address));
  spdlog::info("listening on http://{}:{}", address.host, composition->port());
  wait_for_stop([&] { composition->each_second(); });
  spdlog::info("stopping");
  composition->stop();
  return {};
}

}  // namespace strata::app
