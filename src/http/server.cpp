#include "http/server.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/check.h"
#include "http/body_budget.h"
#include "http/connection.h"
#include "http/lane_pool.h"
#include "http/router.h"

namespace strata::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// How long to wait when the system hands out no connection (no descriptor left), rather than spin.
constexpr std::chrono::milliseconds kAcceptPause{50};

/// One thread with all that its connections wait for. Nothing goes from one to another, so what is
/// done for one connection wakes no thread that waits for others.
struct IoThread {
  asio::io_context context{1};  // run by this one thread
  asio::executor_work_guard<asio::io_context::executor_type> work_guard =
      asio::make_work_guard(context);
  std::thread thread;
};

std::vector<std::unique_ptr<IoThread>> make_io_threads(std::size_t count) {
  std::vector<std::unique_ptr<IoThread>> threads;
  for (std::size_t i = 0; i < count; ++i) threads.push_back(std::make_unique<IoThread>());
  return threads;
}

class ServerImpl final : public Server {
 public:
  ServerImpl(ServerOptions options, std::vector<Route> routes);
  ~ServerImpl() override { stop(); }

  Result<void> listen();
  void run();

  std::uint16_t port() const override { return port_; }
  std::size_t commit_queue() const override { return commit_lane_.waiting(); }
  std::uint64_t body_bytes_held() const override { return bodies_.held_bytes(); }
  void stop() override;

 private:
  asio::awaitable<void> accept();
  void open(tcp::socket socket);
  void forget(const std::shared_ptr<Connection>& connection);
  void close_listener();
  void finish_connections();
  static void run_io(asio::io_context& context);

  const ServerOptions options_;
  const SystemClock system_clock_;
  const Router router_;
  BodyBudget bodies_;
  std::uint16_t port_ = 0;

  std::mutex connections_mutex_;
  std::condition_variable connection_ended_;
  std::set<std::shared_ptr<Connection>> connections_;  // guarded by connections_mutex_
  bool draining_ = false;                              // guarded by connections_mutex_

  std::mutex stop_mutex_;
  bool stopped_ = false;  // guarded by stop_mutex_

  // Connections refer to the host, tasks of the lanes to connections and to the contexts: so they
  // go in the order lanes, contexts, host.
  std::optional<ConnectionHost> host_;
  std::vector<std::unique_ptr<IoThread>> io_threads_;
  tcp::acceptor acceptor_;    // the first thread's
  std::size_t accepted_ = 0;  // likewise: the threads take turns
  bool running_ = false;
  LanePool commit_lane_;
  LanePool query_lane_;
  LanePool control_lane_;
};

ServerImpl::ServerImpl(ServerOptions options, std::vector<Route> routes)
    : options_(std::move(options)),
      router_(std::move(routes)),
      bodies_(options_.body_bytes_held_max),
      io_threads_(make_io_threads(options_.io_threads)),
      acceptor_(io_threads_.at(0)->context),
      commit_lane_(options_.commit_threads, options_.queue_max),
      query_lane_(options_.query_threads, options_.queue_max),
      control_lane_(options_.control_threads, options_.queue_max) {
  STRATA_CHECK(options_.error_page != nullptr);
  STRATA_CHECK(options_.io_threads > 0 && options_.commit_threads > 0 &&
               options_.query_threads > 0 && options_.control_threads > 0);
  const Clock& clock = options_.clock != nullptr ? *options_.clock : system_clock_;
  host_.emplace(ConnectionHost{options_, router_, clock, commit_lane_, query_lane_, control_lane_,
                               bodies_, [this](const auto& connection) { forget(connection); }});
}

Result<void> ServerImpl::listen() {
  error_code error;
  const asio::ip::address address = asio::ip::make_address(options_.address, error);
  if (error) {
    return make_error(Code::kBadRequest,
                      fmt::format("'{}' is no IP address to listen on.", options_.address));
  }
  const tcp::endpoint endpoint(address, options_.port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  if (error == asio::error::address_in_use) {
    return make_error(Code::kConflict, fmt::format("Port {} of {} is in use; choose another one.",
                                                   options_.port, options_.address));
  }
  if (error) {
    return make_error(Code::kIo,
                      fmt::format("The system does not let the server listen on {} port {}.",
                                  options_.address, options_.port),
                      error.message());
  }
  return {};
}

void ServerImpl::run() {
  for (const auto& io : io_threads_) {
    io->thread = std::thread([&context = io->context] { run_io(context); });
  }
  // No connection comes before each thread is there to serve it.
  asio::co_spawn(acceptor_.get_executor(), accept(), asio::detached);
  running_ = true;
}

void ServerImpl::run_io(asio::io_context& context) {
  while (true) {
    try {
      context.run();
      return;
    } catch (const std::exception&) {
      // Out of memory inside one connection's step: that one is over, the others go on.
    }
  }
}

asio::awaitable<void> ServerImpl::accept() {
  while (acceptor_.is_open()) {
    tcp::socket socket(io_threads_[accepted_++ % io_threads_.size()]->context);
    const auto [error] =
        co_await acceptor_.async_accept(socket, asio::as_tuple(asio::use_awaitable));
    if (!error) {
      open(std::move(socket));
    } else if (acceptor_.is_open()) {
      asio::steady_timer pause(acceptor_.get_executor(), kAcceptPause);
      co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }
}

/// One beyond connections_max is told so; beyond twice as many there is no telling any more.
void ServerImpl::open(tcp::socket socket) {
  std::shared_ptr<Connection> connection;
  {
    const std::lock_guard lock(connections_mutex_);
    const std::size_t count = connections_.size();
    if (draining_ || count >= 2 * options_.connections_max) return;
    connection =
        std::make_shared<Connection>(*host_, std::move(socket), count >= options_.connections_max);
    connections_.insert(connection);
  }
  connection->start();
}

void ServerImpl::forget(const std::shared_ptr<Connection>& connection) {
  const std::lock_guard lock(connections_mutex_);
  connections_.erase(connection);
  if (connections_.empty()) connection_ended_.notify_all();
}

void ServerImpl::stop() {
  const std::lock_guard lock(stop_mutex_);
  if (std::exchange(stopped_, true)) return;
  if (running_) {
    close_listener();
    finish_connections();
  }
  for (const auto& io : io_threads_) {
    io->work_guard.reset();
    if (io->thread.joinable()) io->thread.join();
  }
}

void ServerImpl::close_listener() {
  std::promise<void> closed;
  asio::post(acceptor_.get_executor(), [this, &closed] {
    error_code ignored;  // there is no listening afterwards in any case
    acceptor_.close(ignored);
    closed.set_value();
  });
  closed.get_future().wait();
}

void ServerImpl::finish_connections() {
  std::unique_lock lock(connections_mutex_);
  draining_ = true;
  for (const auto& connection : connections_) connection->drain();
  const auto all_ended = [this] { return connections_.empty(); };
  if (connection_ended_.wait_for(lock, options_.stop_deadline, all_ended)) return;
  for (const auto& connection : connections_) connection->cut();
  connection_ended_.wait(lock, all_ended);
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, std::vector<Route> routes) {
  try {
    auto server = std::make_unique<ServerImpl>(std::move(options), std::move(routes));
    STRATA_RETURN_IF_ERROR(server->listen());
    server->run();
    return server;
  } catch (const std::exception& exception) {
    return make_error(Code::kInternal, "The server could not be started.", exception.what());
  }
}

}  // namespace strata::http
