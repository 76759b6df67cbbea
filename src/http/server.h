#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "http/message.h"

namespace strata::http {

/// Which bounded thread pool a route's code runs on; a full one answers 503 with Retry-After.
enum class Lane : std::uint8_t { kInline, kCommit, kQuery, kControl };

/// Decides on the head, before the body is read: the body's limit, or an answer that ends it.
/// Runs on the route's lane.
using Admit = std::function<std::expected<std::uint64_t, Response>(const Request& head)>;
/// Runs on the route's lane, once the body is there. Must not throw; one that does is answered with
/// kInternal, as is an Admit.
using Handler = std::function<Response(const Request& request)>;

struct Route {
  std::string method;   // HEAD is answered by GET routes
  std::string pattern;  // `/knowledgebase/{kb}/strata/ingest/{stream}`; a part in braces takes one
                        // non-empty segment
  Lane lane = Lane::kControl;
  Admit admit;  // none: kControlBodyBytesMax
  Handler handler;
  /// The body may come compressed with gzip or zstd; admit's limit holds for it before and after.
  /// Otherwise any Content-Encoding but identity is kUnsupportedEncoding.
  bool takes_encodings = false;
  /// A client that closes its connection, or only its sending half (the two look alike), wants no
  /// answer any more: Request::client_left is asked to stop. For what is long and changes nothing.
  bool ends_with_client = false;
};

/// The server makes no error body itself: it asks for one, so that all look alike. `code` is one of
/// kNotFound, kMethodNotAllowed, kBodyTooLarge, kBadRequest, kBadEncoding, kUnsupportedEncoding,
/// kRequestTimeout, kUriTooLong, kHeadersTooLarge, kBusy, kInternal; `head` may be half empty when
/// the head was not readable. Allow, Accept-Encoding and Retry-After headers are added by the
/// server. Called from any thread; must not block.
using ErrorPage = std::function<Response(const Error& error, const Request& head)>;

/// Called once per answered request, from any thread.
struct AccessRecord {
  std::string request_id;
  std::string method;
  std::string target;
  std::string pattern;  // empty: no route
  int status = 0;
  std::uint64_t request_bytes = 0;        // head and body, as read
  std::uint64_t response_bytes = 0;       // head and body, as written
  std::chrono::microseconds duration{0};  // from the head being there to the answer being written
  bool cut = false;  // the client did not get a whole answer: it left, or the source failed
};
using AccessLog = std::function<void(const AccessRecord&)>;

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;  // 0: the system chooses
  std::size_t io_threads = 2;
  std::size_t commit_threads = 8;
  std::size_t query_threads = 4;
  std::size_t control_threads = 4;
  std::size_t queue_max = 64;  // per lane, waiting
  const Clock* clock = nullptr;
  ErrorPage error_page;
  AccessLog access_log;
  /// Runs on the head of every request before routing; an answer ends it (Host and Origin rules,
  /// tokens). Must not block.
  std::function<std::optional<Response>(const Request& head)> guard;

  // Settable so that tests need not wait.
  std::size_t connections_max = limits::kConnectionsMax;
  std::uint64_t body_bytes_held_max = limits::kBodyBytesHeldMax;
  std::chrono::milliseconds header_deadline = limits::kHeaderDeadline;
  std::chrono::milliseconds body_deadline = limits::kBodyDeadline;
  std::chrono::milliseconds idle_deadline = limits::kIdleDeadline;
  std::chrono::milliseconds write_deadline = limits::kWriteDeadline;  // of 64 KiB
  std::chrono::milliseconds stop_deadline = limits::kStopDeadline;
};

/// HTTP/1.1 with keep-alive. Limits and deadlines from base/limits.h. A body over its limit is
/// answered 413 from the declared length, or as soon as a chunked one passes it, without reading
/// on: the connection then closes after a short drain, so that the client sees the answer.
/// `Expect: 100-continue` gets its 100 only after admission. Framing other than one Content-Length
/// or exactly `chunked` on HTTP/1.1 is 400 and closes. Every reply carries X-Request-Id.
class Server {
 public:
  virtual ~Server() = default;
  /// Bound and accepting when it returns. kConflict: the address is in use; kBadRequest: no IP
  /// address; kIo: the system does not let us listen there.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, std::vector<Route> routes);
  virtual std::uint16_t port() const = 0;
  /// Requests waiting for a commit thread, for strata_commit_queue.
  virtual std::size_t commit_queue() const = 0;
  /// Of request bodies, for strata_body_bytes_held.
  virtual std::uint64_t body_bytes_held() const = 0;
  /// Stops accepting at once, lets what is in flight finish until kStopDeadline, then cuts.
  /// Blocks, in the end for handlers that are still running. Idempotent. Not from a handler.
  virtual void stop() = 0;
};

}  // namespace strata::http
