#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

/// Requests and responses as handlers see them: no socket, no domain word.
namespace strata::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;                         // `GET`, as sent
  std::string target;                         // as sent
  std::string path;                           // percent-decoded once, without the query
  std::map<std::string, std::string> query;   // decoded; no name twice
  std::map<std::string, std::string> params;  // the route's `{name}` parts, decoded
  Headers headers;
  std::string body;                             // inflated
  std::optional<std::uint64_t> content_length;  // declared; chunked bodies have none
  WallTime arrived_at{};                        // the instant the head was read
  /// The same, to compare with what is done later; unknown: later than that.
  SteadyTime arrived_steady = SteadyTime::max();
  std::string request_id;
  std::string peer;  // address of the client
  /// Asked to stop when the client leaves while the handler runs; on routes that end with it.
  std::stop_token client_left;

  /// By name, any case; the first of equal ones.
  std::optional<std::string_view> header(std::string_view name) const;
  std::size_t header_count(std::string_view name) const;
};

/// A body too large to hold, or not all there yet. next() and pause() run on the route's pool;
/// next() may block.
class BodySource {
 public:
  virtual ~BodySource() = default;
  /// Nothing: whole. An error: the connection is aborted, so that a cut body is never taken for a
  /// whole one. Empty text: nothing to say for now.
  virtual Result<std::optional<std::string>> next() = 0;
  /// How long to wait before next() is called again. Meanwhile no thread is held; a client that
  /// leaves, or only ends its sending, ends the body, and so does the server's stop.
  virtual std::chrono::milliseconds pause() const { return std::chrono::milliseconds(0); }
};

struct Response {
  int status = 200;
  Headers headers;  // Content-Type among them; framing headers are the server's
  std::string body;
  std::unique_ptr<BodySource> source;  // when set, sent chunked after `body`
};

}  // namespace strata::http
