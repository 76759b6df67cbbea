#include "http/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <exception>
#include <utility>

#include "base/ids.h"
#include "http/chunked.h"
#include "http/text.h"

namespace strata::http {
namespace {

// In this file co_await is a statement of its own, or initialises a variable: g++ 12 miscompiles it
// in the condition of a loop.

namespace asio = boost::asio;
using boost::system::error_code;

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

constexpr std::size_t kReadBytes = 16UL * 1024;
constexpr std::size_t kBodyReadBytes = 64UL * 1024;
/// Of what a client sends while its request is worked on; behind more than this its leaving is not
/// seen.
constexpr std::size_t kAheadBytesMax = 64UL * 1024;
/// The write deadline is for this much, so that it bounds how slowly a client may read.
constexpr std::size_t kWriteBytes = 64UL * 1024;
/// A client that still sends a refused body must get to see the answer: a socket closed over
/// unread bytes resets the connection, and some clients only read once they have sent all.
constexpr std::size_t kLingerBytesMax = 8UL * 1024 * 1024;
constexpr std::chrono::milliseconds kLingerDeadline{1000};
/// Nothing but this time ends a rest while the client has sent its next request ahead.
constexpr std::chrono::milliseconds kRestAheadMax{1000};
constexpr std::size_t kRequestIdBytesMax = 64;
constexpr std::size_t kPathShownBytesMax = 200;

bool is_request_id(std::string_view text) {
  return !text.empty() && text.size() <= kRequestIdBytesMax &&
         text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
             std::string_view::npos;
}

std::string choose_request_id(const Request& head, const Clock& clock) {
  const auto offered = head.header("X-Request-Id");
  if (offered && head.header_count("X-Request-Id") == 1 && is_request_id(*offered)) {
    return std::string(*offered);
  }
  return uuid_v7(clock);
}

void add_header(Response& response, std::string_view name, std::string_view value) {
  const bool there = std::ranges::any_of(
      response.headers, [&](const auto& field) { return equals_ignoring_case(field.first, name); });
  if (!there) response.headers.emplace_back(name, value);
}

Error busy(std::string message) { return make_error(Code::kBusy, std::move(message)); }

Error lane_full() { return busy("The server has as much to do as it takes; try again soon."); }

Error bodies_full() {
  return busy("The server holds as much of requests under way as it takes; try again soon.");
}

Error internal_error(std::string detail) {
  return make_error(Code::kInternal, "The server failed on this request.", std::move(detail));
}

/// Calls foreign code; what it throws becomes an error.
template <typename Function>
auto guarded(Function&& function) -> std::expected<decltype(function()), Error> {
  try {
    return function();
  } catch (const std::exception& exception) {
    return std::unexpected(internal_error(exception.what()));
  } catch (...) {
    return std::unexpected(internal_error("an exception of an unknown type"));
  }
}

}  // namespace

Connection::Connection(const ConnectionHost& host, asio::ip::tcp::socket socket, bool refuse)
    : host_(host),
      executor_(socket.get_executor()),
      socket_(std::move(socket)),
      timer_(executor_),
      refuse_(refuse) {
  error_code ignored;  // a peer that is gone already shows at the first read
  socket_.non_blocking(true, ignored);
  peer_ = socket_.remote_endpoint(ignored).address().to_string();
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void Connection::start() {
  asio::co_spawn(executor_, run(), [self = shared_from_this()](const std::exception_ptr&) {
    self->close();
    self->host_.on_end(self);
  });
}

void Connection::drain() {
  asio::post(executor_, [self = shared_from_this()] {
    self->draining_ = true;
    if (self->idle_) self->close();
    error_code ignored;  // rest() looks at draining_ when its time is over, if not at once
    if (self->resting_) self->socket_.cancel(ignored);
  });
}

void Connection::cut() {
  cut_ = true;
  asio::post(executor_, [self = shared_from_this()] { self->close(); });
}

Connection::Awaitable<void> Connection::run() {
  if (refuse_) {
    co_await refuse_connection();
    co_return;
  }
  bool more = true;
  while (more) {
    more = co_await serve_one();
    served_before_ = true;
  }
}

Connection::Awaitable<void> Connection::refuse_connection() {
  Exchange exchange(host_.bodies);
  exchange.head.request.request_id = uuid_v7(host_.clock);
  exchange.head.request.peer = peer_;
  exchange.started = host_.clock.steady();
  refuse(exchange, busy("The server has as many connections as it takes; try again soon."));
  co_await reply(exchange);
  co_await linger();
}

/// False: the connection is over.
Connection::Awaitable<bool> Connection::serve_one() {
  Exchange exchange(host_.bodies);
  co_await read_head(exchange);
  if (exchange.open()) direct(exchange);
  if (exchange.open() && is_whole(exchange)) {
    co_await answer_whole(exchange);
  } else {
    if (exchange.open()) co_await admit(exchange);
    if (exchange.open()) settle_coding(exchange);
    if (exchange.open()) co_await read_body(exchange);
    if (exchange.open()) co_await handle(exchange);
  }
  if (exchange.gone) co_return false;
  exchange.let_go_of_body();
  co_await reply(exchange);
  if (exchange.keep_alive) co_return true;
  if (socket_.is_open()) co_await linger();
  co_return false;
}

Connection::Awaitable<void> Connection::read_head(Exchange& exchange) {
  HeadScanner scanner;
  const bool waits = served_before_ && nothing_asked();
  arm(waits ? host_.options.idle_deadline : host_.options.header_deadline);
  idle_ = nothing_asked();
  bool began = false;  // just now, and the header deadline is not set yet
  while (exchange.open()) {
    const Result<std::optional<std::size_t>> end = scanner.scan(inbox_);
    if (!end) {
      take_head(exchange, 0);
      refuse(exchange, end.error());
    } else if (*end) {
      take_head(exchange, **end);
      co_return;
    } else if (idle_ && draining_) {
      exchange.gone = true;
    } else {
      if (std::exchange(began, false)) arm(host_.options.header_deadline);
      const Received received = co_await receive(inbox_, kReadBytes);
      if (idle_ && !nothing_asked()) {
        idle_ = false;
        began = waits;
      }
      if (received == Received::kSome) continue;
      exchange.gone = idle_;
      if (idle_) break;
      take_head(exchange, 0);
      refuse_unread(exchange, received);
    }
  }
  idle_ = false;
}

/// `length` 0: there is no whole head, only an error page to make.
void Connection::take_head(Exchange& exchange, std::size_t length) {
  idle_ = false;
  exchange.started = host_.clock.steady();
  Request& request = exchange.head.request;
  request.peer = peer_;
  request.arrived_at = host_.clock.wall();
  request.arrived_steady = exchange.started;
  Result<void> parsed;
  if (length > 0) {
    parsed = parse_head(std::string_view(inbox_).substr(0, length), exchange.head);
    inbox_.erase(0, length);
  }
  request.request_id = choose_request_id(request, host_.clock);
  exchange.record.request_bytes = length > 0 ? length : inbox_.size();
  exchange.body_unread = exchange.head.has_body();
  if (!parsed) refuse(exchange, parsed.error());
}

void Connection::direct(Exchange& exchange) {
  Request& request = exchange.head.request;
  if (host_.options.guard) {
    auto verdict = guarded([&] { return host_.options.guard(request); });
    if (!verdict) return refuse(exchange, verdict.error());
    exchange.answer = std::move(*verdict);
    if (exchange.answer) return;
  }
  RouteMatch match = host_.router.match(request.method, exchange.head.raw_path);
  exchange.route = match.route;
  if (match.route != nullptr) {
    request.params = std::move(match.params);
    exchange.record.pattern = match.route->pattern;
  } else if (match.allow.empty()) {
    refuse(exchange,
           make_error(Code::kNotFound, fmt::format("There is nothing at '{:.{}}'.",
                                                   exchange.head.raw_path, kPathShownBytesMax)));
  } else {
    refuse(exchange, make_error(Code::kMethodNotAllowed,
                                fmt::format("{} is not taken at this address: use {}.",
                                            request.method, match.allow)));
    add_header(*exchange.answer, "Allow", match.allow);
  }
}

Connection::Awaitable<void> Connection::admit(Exchange& exchange) {
  if (!exchange.route->admit) co_return;
  std::optional<Verdict> verdict;
  std::move_only_function<void()> work = [&exchange, &verdict] {
    verdict = guarded([&] { return exchange.route->admit(exchange.head.request); });
  };
  const bool accepted = co_await on_lane(exchange.route->lane, Admission::kIfRoom, std::move(work));
  if (!accepted) {
    refuse(exchange, lane_full());
  } else if (!verdict) {
    exchange.gone = true;
  } else {
    take_verdict(exchange, *std::move(verdict));
  }
}

void Connection::take_verdict(Exchange& exchange, Verdict verdict) const {
  if (!verdict) {
    refuse(exchange, verdict.error());
  } else if (*verdict) {
    exchange.body_bytes_max = **verdict;
  } else {
    exchange.answer = std::move(*verdict).error();
  }
}

/// Whether all of the request came with its head, and is to go through admission and to a handler.
bool Connection::is_whole(const Exchange& exchange) const {
  const Head& head = exchange.head;
  return exchange.route->admit && !exchange.route->ends_with_client && !head.chunked &&
         head.request.content_length.value_or(0) <= inbox_.size();
}

/// The same steps as one by one, in one stay on the lane: of a small batch, going there and back
/// twice costs more than parsing it. Until it comes back nothing else is at the inbox.
Connection::Awaitable<void> Connection::answer_whole(Exchange& exchange) {
  bool ran = false;
  std::move_only_function<void()> work = [this, &exchange, &ran] {
    ran = true;
    take_verdict(exchange, guarded([&] { return exchange.route->admit(exchange.head.request); }));
    if (exchange.open()) settle_coding(exchange);
    if (exchange.open()) check_declared(exchange);
    if (!exchange.open()) return;
    if (exchange.head.has_body()) take_body(exchange);
    take_answer(exchange, guarded([&] { return answer(exchange); }));
  };
  const bool accepted = co_await on_lane(exchange.route->lane, Admission::kIfRoom, std::move(work));
  if (!accepted) {
    refuse(exchange, lane_full());
  } else if (!ran) {
    exchange.gone = true;
  }
}

/// After admission: whoever may not come in is not told what the route takes.
void Connection::settle_coding(Exchange& exchange) const {
  const Result<ContentCoding> coding = content_coding(exchange.head.request);
  const bool takes_some = exchange.route->takes_encodings;
  if (coding && (takes_some || *coding == ContentCoding::kIdentity)) {
    exchange.coding = *coding;
    return;
  }
  refuse(exchange, takes_some ? coding.error()
                              : make_error(Code::kUnsupportedEncoding,
                                           "Compressed bodies are not taken at this address: send "
                                           "the body as it is, without Content-Encoding."));
  add_header(*exchange.answer, "Accept-Encoding", takes_some ? kCodingsTaken : "identity");
}

Connection::Awaitable<void> Connection::read_body(Exchange& exchange) {
  const Head& head = exchange.head;
  if (!head.has_body()) co_return;
  check_declared(exchange);
  if (!exchange.open()) co_return;
  // Nothing is set aside for what is only declared: a client that then sends nothing would hold it.
  if (!host_.bodies.has_room_for(head.request.content_length.value_or(kBodyReadBytes))) {
    refuse(exchange, bodies_full());
    co_return;
  }
  if (head.expects_continue && inbox_.empty()) {
    const bool sent = co_await send(kContinue, exchange.record.response_bytes);
    exchange.gone = !sent;
    if (!sent) co_return;
  }
  arm(host_.options.body_deadline);
  if (head.chunked) {
    co_await read_chunked_body(exchange);
  } else {
    co_await read_sized_body(exchange);
  }
}

void Connection::check_declared(Exchange& exchange) const {
  const std::uint64_t declared = exchange.head.request.content_length.value_or(0);
  if (declared <= exchange.body_bytes_max) return;
  refuse(exchange, body_too_large(exchange.body_bytes_max, fmt::format("{} declared", declared)));
}

/// What of a sized body is here; how much there is of it in all.
std::size_t Connection::take_body(Exchange& exchange) {
  const auto length = static_cast<std::size_t>(*exchange.head.request.content_length);
  const std::size_t here = std::min(length, inbox_.size());
  exchange.head.request.body.assign(inbox_, 0, here);
  inbox_.erase(0, here);
  if (here < length) return length;
  exchange.record.request_bytes += length;
  exchange.body_unread = false;
  return length;
}

Connection::Awaitable<void> Connection::read_sized_body(Exchange& exchange) {
  std::string& body = exchange.head.request.body;
  const std::size_t length = take_body(exchange);
  if (body.size() == length) co_return;
  while (body.size() < length) {
    const std::size_t piece = std::min(length - body.size(), kBodyReadBytes);
    if (!exchange.held.make_room(body, piece, length)) {
      refuse(exchange, bodies_full());
      co_return;
    }
    const Received received = co_await receive(body, piece);
    if (received == Received::kSome) continue;
    refuse_unread(exchange, received);
    co_return;
  }
  exchange.record.request_bytes += length;
  exchange.body_unread = false;
}

Connection::Awaitable<void> Connection::read_chunked_body(Exchange& exchange) {
  ChunkedDecoder decoder(exchange.body_bytes_max);
  bool room = exchange.held.take(kBodyReadBytes);  // what the inbox grows to
  while (true) {
    std::string& body = exchange.head.request.body;
    room = room && exchange.held.make_room(body, inbox_.size(), exchange.body_bytes_max);
    if (!room) {
      refuse(exchange, bodies_full());
      co_return;
    }
    const Result<std::size_t> used = decoder.feed(inbox_, body);
    if (!used) {
      refuse(exchange, used.error());
      co_return;
    }
    inbox_.erase(0, *used);
    exchange.record.request_bytes += *used;
    if (decoder.done()) break;
    const Received received = co_await receive(inbox_, kBodyReadBytes);
    if (received == Received::kSome) continue;
    refuse_unread(exchange, received);
    co_return;
  }
  exchange.body_unread = false;
}

Connection::Awaitable<void> Connection::handle(Exchange& exchange) {
  std::optional<Made> made;
  bool accepted = false;
  const auto run = [&]() -> Awaitable<void> {
    std::move_only_function<void()> work = [&] {
      made = guarded([&] { return answer(exchange); });
    };
    accepted = co_await on_lane(exchange.route->lane, Admission::kIfRoom, std::move(work));
  };
  if (exchange.route->ends_with_client) {
    using namespace asio::experimental::awaitable_operators;
    disarm();
    exchange.head.request.client_left = exchange.client_left.get_token();
    // The end of run() ends the watch; that of the watch leaves run() to come to its own.
    co_await (run() || watch(exchange));
  } else {
    co_await run();
  }
  if (!accepted) {
    refuse(exchange, lane_full());
  } else if (!made) {
    exchange.gone = true;
  } else {
    take_answer(exchange, *std::move(made));
  }
}

void Connection::take_answer(Exchange& exchange, Made made) const {
  if (!made || !*made) {
    refuse(exchange, !made ? made.error() : made->error());
  } else {
    exchange.answer = **std::move(made);
  }
}

/// On the route's lane, where it may take its time to inflate a body.
Result<Response> Connection::answer(Exchange& exchange) {
  Request& request = exchange.head.request;
  if (exchange.coding != ContentCoding::kIdentity) {
    STRATA_ASSIGN_OR_RETURN(request.body, inflate_body(exchange.coding, request.body,
                                                       exchange.body_bytes_max, exchange.held));
  }
  return exchange.route->handler(request);
}

/// Sees the client leave while its request is worked on. What it sends meanwhile is the next
/// request's.
Connection::Awaitable<void> Connection::watch(Exchange& exchange) {
  std::string piece(kReadBytes, '\0');
  while (inbox_.size() < kAheadBytesMax) {
    const auto [error, bytes] =
        co_await socket_.async_read_some(asio::buffer(piece.data(), piece.size()), kAsTuple);
    inbox_.append(piece, 0, bytes);
    // Called off between two reads, the next one would not hear of it.
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return;
    if (error) {
      exchange.client_left.request_stop();
      co_return;
    }
  }
}

Connection::Awaitable<void> Connection::reply(Exchange& exchange) {
  Response& answer = *exchange.answer;
  const bool head_only = exchange.head.request.method == "HEAD" || !may_have_body(answer.status);
  std::unique_ptr<BodySource> source = std::move(answer.source);
  BodyFraming framing = BodyFraming::kLength;
  if (source) framing = exchange.head.http_1_0 ? BodyFraming::kUntilClose : BodyFraming::kChunked;
  exchange.keep_alive = exchange.head.keep_alive && !exchange.body_unread && !draining_;

  std::string bytes =
      render_head(answer, ReplyFacts{framing, exchange.keep_alive, exchange.head.request.request_id,
                                     host_.clock.wall()});
  if (!head_only && !answer.body.empty()) {
    bytes += framing == BodyFraming::kChunked ? render_chunk(answer.body) : answer.body;
  }
  bool whole = co_await send(bytes, exchange.record.response_bytes);
  if (source) {
    const bool wanted = whole && !head_only;
    const bool streamed = co_await send_source(exchange, framing, std::move(source), wanted);
    whole = whole && streamed;
  }
  exchange.record.cut = !whole;
  exchange.keep_alive = exchange.keep_alive && whole;
  log(exchange);
  if (!whole) close();
}

/// True: all of it was sent, or none was wanted. In the end the source goes on its lane, for it may
/// hold what takes time to let go.
Connection::Awaitable<bool> Connection::send_source(Exchange& exchange, BodyFraming framing,
                                                    std::unique_ptr<BodySource> source,
                                                    bool wanted) {
  using Piece = Result<std::optional<std::string>>;
  // Only a route's handler makes a source; a guard's or admission's has no lane of its own.
  const Lane lane = exchange.route == nullptr ? Lane::kControl : exchange.route->lane;
  bool whole = !wanted;
  while (wanted && !peer_reset()) {
    std::optional<std::expected<Piece, Error>> made;
    std::chrono::milliseconds pause{0};
    std::move_only_function<void()> work = [&source, &made, &pause] {
      made = guarded([&] { return source->next(); });
      pause = source->pause();
    };
    co_await on_lane(lane, Admission::kAlways, std::move(work));
    if (!made || !*made || !**made) break;
    std::optional<std::string>& content = ***made;
    whole = !content;
    if (whole) break;
    if (!content->empty()) {  // an empty chunk would say that this is the end
      if (framing == BodyFraming::kChunked) *content = render_chunk(*content);
      const bool sent = co_await send(*content, exchange.record.response_bytes);
      if (!sent) break;
    }
    if (pause.count() == 0) continue;
    const bool stays = co_await rest(pause);
    whole = stays && draining_;
    if (!stays || whole) break;
  }
  std::move_only_function<void()> let_go = [last = std::move(source)]() mutable { last.reset(); };
  co_await on_lane(lane, Admission::kAlways, std::move(let_go));
  if (whole && wanted && framing == BodyFraming::kChunked) {
    whole = co_await send(kLastChunk, exchange.record.response_bytes);
  }
  // Without a framing only a reset tells a cut body from a whole one.
  if (!whole && framing == BodyFraming::kUntilClose) reset();
  co_return whole;
}

/// Waits, holding no thread. False: the client left, or ended its sending.
Connection::Awaitable<bool> Connection::rest(std::chrono::milliseconds time) {
  if (draining_) co_return true;
  arm(time);
  resting_ = true;
  const auto [error] = co_await socket_.async_wait(asio::ip::tcp::socket::wait_read, kAsTuple);
  resting_ = false;
  if (timed_out_ || draining_) co_return socket_.is_open();
  if (error || peer_ended()) co_return false;
  // A request sent ahead has to wait for its turn, and would be there at once again.
  asio::steady_timer timer(executor_, std::min(time, kRestAheadMax));
  co_await timer.async_wait(kAsTuple);
  co_return socket_.is_open();
}

/// Closes so that the client gets to see the answer.
Connection::Awaitable<void> Connection::linger() {
  error_code ignored;  // a peer that is gone already has nothing left to see
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  arm(kLingerDeadline);
  std::size_t discarded_bytes = 0;
  while (discarded_bytes < kLingerBytesMax) {
    inbox_.clear();
    const Received received = co_await receive(inbox_, kReadBytes);
    if (received != Received::kSome) break;
    discarded_bytes += inbox_.size();
  }
}

Response Connection::error_response(const Error& error, const Request& head) const {
  auto page = guarded([&] { return host_.options.error_page(error, head); });
  if (page) return std::move(*page);
  return Response{500, {{"Content-Type", "text/plain"}}, "The server failed.\n", nullptr};
}

void Connection::refuse(Exchange& exchange, const Error& error) const {
  exchange.answer = error_response(error, exchange.head.request);
  if (error.code == Code::kBusy) add_header(*exchange.answer, "Retry-After", "1");
}

/// The request did not come to its end.
void Connection::refuse_unread(Exchange& exchange, Received received) const {
  if (received == Received::kTimeout) {
    refuse(exchange, make_error(Code::kRequestTimeout,
                                "The request took too long to arrive; send it again."));
  } else if (received == Received::kEnd) {
    refuse(exchange, make_error(Code::kBadRequest, "The request ended before it was whole."));
  } else {
    exchange.gone = true;
  }
}

void Connection::log(Exchange& exchange) const {
  if (!host_.options.access_log) return;
  AccessRecord& record = exchange.record;
  const Request& request = exchange.head.request;
  record.request_id = request.request_id;
  record.method = request.method;
  record.target = request.target;
  record.status = exchange.answer->status;
  record.duration = std::chrono::duration_cast<std::chrono::microseconds>(host_.clock.steady() -
                                                                          exchange.started);
  // A log that throws has nobody to tell.
  static_cast<void>(guarded([&] {
    host_.options.access_log(record);
    return true;
  }));
}

Connection::Awaitable<bool> Connection::on_lane(Lane lane, Admission admission,
                                                std::move_only_function<void()> work) {
  LanePool* pool = nullptr;
  switch (lane) {
    case Lane::kInline:
      work();
      co_return true;
    case Lane::kCommit:
      pool = &host_.commit_lane;
      break;
    case Lane::kQuery:
      pool = &host_.query_lane;
      break;
    case Lane::kControl:
      pool = &host_.control_lane;
      break;
  }
  auto initiate = [this, pool, admission](auto completion, std::move_only_function<void()> job) {
    LanePool::Task task = [this, job = std::move(job),
                           completion = std::move(completion)](bool accepted) mutable {
      if (accepted && !cut_) job();
      job = nullptr;
      asio::post(executor_, [completion = std::move(completion), accepted]() mutable {
        completion(accepted);
      });
    };
    if (admission == Admission::kAlways) {
      pool->submit_again(std::move(task));
    } else {
      pool->submit(std::move(task));
    }
  };
  const bool accepted = co_await asio::async_initiate<decltype(asio::use_awaitable), void(bool)>(
      std::move(initiate), asio::use_awaitable, std::move(work));
  co_return accepted;
}

Connection::Awaitable<Connection::Received> Connection::receive(std::string& into,
                                                                std::size_t bytes_max) {
  if (timed_out_) co_return Received::kTimeout;
  const std::size_t before = into.size();
  into.resize(before + bytes_max);
  const auto [error, bytes] =
      co_await socket_.async_read_some(asio::buffer(into.data() + before, bytes_max), kAsTuple);
  into.resize(before + bytes);
  if (!error) co_return Received::kSome;
  if (timed_out_) co_return Received::kTimeout;
  co_return error == asio::error::eof ? Received::kEnd : Received::kBroken;
}

Connection::Awaitable<bool> Connection::send(std::string_view bytes, std::uint64_t& sent_bytes) {
  error_code refused;
  // Most answers fit into the socket's buffer: neither a timer nor a wait for those.
  const std::size_t taken = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), refused);
  sent_bytes += taken;
  bytes.remove_prefix(taken);
  if (refused && refused != asio::error::would_block) co_return false;
  while (!bytes.empty()) {
    const std::string_view slice = bytes.substr(0, kWriteBytes);
    arm(host_.options.write_deadline);
    const auto [error, sent] =
        co_await asio::async_write(socket_, asio::buffer(slice.data(), slice.size()), kAsTuple);
    sent_bytes += sent;
    if (error) co_return false;
    bytes.remove_prefix(slice.size());
  }
  co_return true;
}

void Connection::arm(std::chrono::milliseconds deadline) {
  timed_out_ = false;
  deadline_ = std::chrono::steady_clock::now() + deadline;
  if (!timer_runs_ || timer_.expiry() > *deadline_) start_timer();
}

void Connection::start_timer() {
  timer_runs_ = true;
  timer_.expires_at(*deadline_);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error) return;  // another took its place, or the connection is over
    self->timer_runs_ = false;
    if (!self->deadline_) return;
    if (std::chrono::steady_clock::now() < *self->deadline_) return self->start_timer();
    self->timed_out_ = true;
    error_code ignored;  // nothing to cancel: the next operation sees timed_out_
    self->socket_.cancel(ignored);
  });
}

void Connection::disarm() {
  timed_out_ = false;
  deadline_.reset();
}

/// Whether nothing more will come from the client, as when it left.
bool Connection::peer_ended() {
  char byte = 0;
  const ssize_t seen = ::recv(socket_.native_handle(), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
  return seen == 0 || peer_reset();
}

/// Whether the client is known to have gone. One that only ended its sending has not.
bool Connection::peer_reset() {
  char byte = 0;
  const ssize_t seen = ::recv(socket_.native_handle(), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
  return seen < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
}

void Connection::reset() {
  error_code ignored;  // a socket that is closed already is what is wanted
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

void Connection::close() {
  deadline_.reset();
  timer_.cancel();
  error_code ignored;  // nothing was promised of what the client has not acknowledged
  socket_.close(ignored);
}

}  // namespace strata::http
