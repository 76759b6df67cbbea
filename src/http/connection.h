#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "http/body_budget.h"
#include "http/head.h"
#include "http/inflate.h"
#include "http/lane_pool.h"
#include "http/reply.h"
#include "http/router.h"
#include "http/server.h"

namespace strata::http {

class Connection;

/// What the connections of one server share. Outlives them; nothing in it changes while they live.
struct ConnectionHost {
  const ServerOptions& options;
  const Router& router;
  const Clock& clock;
  LanePool& commit_lane;
  LanePool& query_lane;
  LanePool& control_lane;
  BodyBudget& bodies;
  /// The last that is heard of a connection; on its thread.
  std::function<void(const std::shared_ptr<Connection>&)> on_end;
};

/// One client's connection: a coroutine on one of the server's threads, always the same, reads a
/// request, has it answered, and starts again. All members are that thread's, except where they say
/// otherwise. Shared by that coroutine and the server's list of connections.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// `refuse`: one too many; it is answered 503 unread.
  Connection(const ConnectionHost& host, boost::asio::ip::tcp::socket socket, bool refuse);

  /// Thread-safe, once.
  void start();
  /// Answers what is in flight and no more. Thread-safe.
  void drain();
  /// Ends it now; work of it that still waits for a lane is skipped. Thread-safe.
  void cut();

 private:
  template <typename T>
  using Awaitable = boost::asio::awaitable<T>;
  enum class Received : std::uint8_t { kSome, kEnd, kTimeout, kBroken };
  enum class Admission : std::uint8_t { kIfRoom, kAlways };
  /// What a route's admission and its handler said, or what they threw.
  using Verdict = std::expected<std::expected<std::uint64_t, Response>, Error>;
  using Made = std::expected<Result<Response>, Error>;

  /// One request on its way through. Once `answer` or `gone` is set the later steps are skipped.
  struct Exchange {
    explicit Exchange(BodyBudget& bodies) : held(bodies) {}

    Head head;
    BodyBudget::Share held;  // for the body, unless it came with the head
    const Route* route = nullptr;
    std::uint64_t body_bytes_max = limits::kControlBodyBytesMax;
    ContentCoding coding = ContentCoding::kIdentity;
    std::stop_source client_left;
    std::optional<Response> answer;
    bool gone = false;  // nobody is there to answer
    bool body_unread = false;
    bool keep_alive = false;
    SteadyTime started{};
    AccessRecord record;

    bool open() const { return !gone && !answer; }
    /// Nobody looks at it any more, though the answer may take its time to be sent.
    void let_go_of_body() {
      std::string().swap(head.request.body);
      held.give_back();
    }
  };

  Awaitable<void> run();
  Awaitable<void> refuse_connection();
  Awaitable<bool> serve_one();

  Awaitable<void> read_head(Exchange& exchange);
  void take_head(Exchange& exchange, std::size_t length);
  void direct(Exchange& exchange);
  bool is_whole(const Exchange& exchange) const;
  Awaitable<void> answer_whole(Exchange& exchange);
  Awaitable<void> admit(Exchange& exchange);
  void take_verdict(Exchange& exchange, Verdict verdict) const;
  void settle_coding(Exchange& exchange) const;
  void check_declared(Exchange& exchange) const;
  std::size_t take_body(Exchange& exchange);
  Awaitable<void> read_body(Exchange& exchange);
  Awaitable<void> read_sized_body(Exchange& exchange);
  Awaitable<void> read_chunked_body(Exchange& exchange);
  Awaitable<void> handle(Exchange& exchange);
  void take_answer(Exchange& exchange, Made made) const;
  static Result<Response> answer(Exchange& exchange);
  Awaitable<void> watch(Exchange& exchange);
  Awaitable<void> reply(Exchange& exchange);
  Awaitable<bool> send_source(Exchange& exchange, BodyFraming framing,
                              std::unique_ptr<BodySource> source, bool wanted);
  Awaitable<bool> rest(std::chrono::milliseconds time);
  Awaitable<void> linger();

  Response error_response(const Error& error, const Request& head) const;
  void refuse(Exchange& exchange, const Error& error) const;
  void refuse_unread(Exchange& exchange, Received received) const;
  void log(Exchange& exchange) const;

  /// Runs `work` on the lane and comes back to the thread; false: the lane is full.
  Awaitable<bool> on_lane(Lane lane, Admission admission, std::move_only_function<void()> work);
  /// Appends up to `bytes_max` bytes to `into`, until the armed deadline.
  Awaitable<Received> receive(std::string& into, std::size_t bytes_max);
  Awaitable<bool> send(std::string_view bytes, std::uint64_t& sent_bytes);

  /// Sets the deadline of what follows. A timer that is due before it stays as it is and looks at
  /// the deadline again then: requests that come one after the other leave the timers alone.
  void arm(std::chrono::milliseconds deadline);
  void disarm();
  void start_timer();
  /// Nothing of a request is here; a CR LF between requests is not a request.
  bool nothing_asked() const { return std::string_view("\r\n").starts_with(inbox_); }
  bool peer_reset();
  bool peer_ended();
  void reset();
  void close();

  const ConnectionHost& host_;
  const boost::asio::any_io_executor executor_;  // any thread
  std::atomic<bool> cut_ = false;                // any thread
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  const bool refuse_;
  std::string peer_;
  std::string inbox_;  // received, not yet used
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  bool timer_runs_ = false;
  bool timed_out_ = false;
  bool served_before_ = false;
  bool idle_ = false;     // waiting for a request's first byte
  bool resting_ = false;  // waiting for a source to have more to say
  bool draining_ = false;
};

}  // namespace strata::http
