#pragma once

#include <string>

#include "base/clock.h"
#include "http/message.h"

/// Responses as bytes. No socket.
namespace strata::http {

enum class BodyFraming : std::uint8_t {
  kLength,      // Content-Length
  kChunked,     // a source, on HTTP/1.1
  kUntilClose,  // a source, on HTTP/1.0
};

struct ReplyFacts {
  BodyFraming framing = BodyFraming::kLength;
  bool keep_alive = false;
  std::string request_id;
  WallTime now{};
};

/// Status line and headers with the empty line. Framing, identity and safety headers are the
/// server's own: a handler's are dropped, and control characters in its values become spaces, so
/// that no value can split a response.
std::string render_head(const Response& response, const ReplyFacts& facts);

/// 1xx, 204 and 304 never have a body (RFC 9110 6.4.1).
bool may_have_body(int status);

std::string render_chunk(std::string_view content);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace strata::http
