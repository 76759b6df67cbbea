#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/limits.h"
#include "http/message.h"

/// A request's head from its raw bytes: the only parser of it, so that no two can disagree on where
/// a request ends. No socket, no clock.
namespace strata::http {

inline constexpr std::size_t kHeadersMax = 100;
/// The target's share, and room for a method, a version and two spaces.
inline constexpr std::size_t kRequestLineBytesMax = limits::kRequestTargetBytesMax + 128;

struct Head {
  Request request;       // body empty; arrived_at, request_id and peer are the connection's to set
  std::string raw_path;  // not decoded: where segments are split, so that %2F never splits one
  bool http_1_0 = false;
  bool chunked = false;
  bool keep_alive = false;
  bool expects_continue = false;

  bool has_body() const { return chunked || request.content_length.value_or(0) > 0; }
};

/// Finds the end of a head while its bytes arrive, and sees at once what can never become one.
class HeadScanner {
 public:
  /// `bytes`: all received since the request began, never fewer than in the last call. The head's
  /// length with its empty line; nothing: more is needed. kBadRequest: a bare CR or LF, or a NUL;
  /// kUriTooLong; kHeadersTooLarge.
  Result<std::optional<std::size_t>> scan(std::string_view bytes);

 private:
  Result<void> check_limits() const;

  std::size_t seen_ = 0;
  std::size_t line_start_ = 0;
  std::size_t fields_start_ = 0;
  std::size_t lines_ = 0;
  bool has_space_ = false;  // a space in the request line: its method ended
};

/// Parses what HeadScanner found. On an error `head` holds what was readable before it.
/// kBadRequest; kUriTooLong.
Result<void> parse_head(std::string_view bytes, Head& head);

}  // namespace strata::http
