#include "http/head.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/whole_number.h"
#include "http/text.h"

namespace strata::http {
namespace {

Error bad(std::string message) { return make_error(Code::kBadRequest, std::move(message)); }

Error uri_too_long() {
  return make_error(Code::kUriTooLong,
                    fmt::format("The address is longer than {} bytes; send long text in the body.",
                                limits::kRequestTargetBytesMax));
}

Error headers_too_large() {
  return make_error(Code::kHeadersTooLarge,
                    fmt::format("The headers are more than {} bytes or more than {} fields; send "
                                "fewer or shorter ones.",
                                limits::kHeaderBytesMax, kHeadersMax));
}

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find("\r\n");
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

struct TargetParts {
  std::string_view authority;  // of an absolute-form target only
  std::string_view path;
  std::string_view query;
};

/// RFC 9112 3.2: origin-form; absolute-form with `http`; `*` for OPTIONS.
Result<TargetParts> split_target(std::string_view method, std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  TargetParts parts;
  std::string_view rest = target;
  if (equals_ignoring_case(target.substr(0, kScheme.size()), kScheme)) {
    rest.remove_prefix(kScheme.size());
    const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
    parts.authority = rest.substr(0, end);
    if (!is_authority(parts.authority)) return bad("The address names no host.");
    rest.remove_prefix(end);
  } else if (!target.starts_with('/') && !(target == "*" && method == "OPTIONS")) {
    return bad("The address must begin with '/'.");
  }
  parts.path = rest.substr(0, rest.find('?'));
  if (parts.path.size() < rest.size()) parts.query = rest.substr(parts.path.size() + 1);
  if (parts.path.empty()) parts.path = "/";
  return parts;
}

Result<void> parse_query(std::string_view query, std::map<std::string, std::string>& out) {
  while (!query.empty()) {
    std::string_view value = take_until(query, '&');
    if (value.empty()) continue;
    const std::string_view name = take_until(value, '=');
    STRATA_ASSIGN_OR_RETURN(std::string decoded_name, percent_decode(name, Plus::kSpace));
    STRATA_ASSIGN_OR_RETURN(std::string decoded_value, percent_decode(value, Plus::kSpace));
    const auto [place, is_new] = out.try_emplace(std::move(decoded_name), std::move(decoded_value));
    if (!is_new) {
      return bad(fmt::format("The address has '{}' more than once; say it once.", place->first));
    }
  }
  return {};
}

/// Returns the authority of an absolute-form target, else an empty one.
Result<std::string_view> parse_target(Head& head) {
  const std::string_view target = head.request.target;
  if (target.size() > limits::kRequestTargetBytesMax) return uri_too_long();
  const bool legal =
      std::ranges::all_of(target, [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
  if (target.empty() || !legal) {
    return bad("The address has a character that must be percent-encoded.");
  }
  STRATA_ASSIGN_OR_RETURN(const TargetParts parts, split_target(head.request.method, target));
  head.raw_path = parts.path;
  STRATA_ASSIGN_OR_RETURN(head.request.path, percent_decode(parts.path, Plus::kLiteral));
  STRATA_RETURN_IF_ERROR(parse_query(parts.query, head.request.query));
  return parts.authority;
}

Result<void> parse_request_line(std::string_view line, Head& head) {
  std::string_view rest = line;
  const std::string_view method = take_until(rest, ' ');
  if (!is_token(method)) return bad("The request does not begin with a method.");
  head.request.method = method;
  head.request.target = take_until(rest, ' ');
  head.http_1_0 = rest == "HTTP/1.0";
  if (!head.http_1_0 && rest != "HTTP/1.1") {
    return bad("The request line must be method, address and HTTP/1.1, one space between them.");
  }
  return {};
}

Result<void> parse_field(std::string_view line, Headers& headers) {
  if (line.starts_with(' ') || line.starts_with('\t')) {
    return bad("A header goes on in a second line; write it in one.");
  }
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == std::string_view::npos || !is_token(name)) {
    return bad("A header is not a name, a colon without a space before it, and a value.");
  }
  const std::string_view value = trim(line.substr(colon + 1));
  if (!is_field_value(value)) return bad("A header's value has a control character in it.");
  headers.emplace_back(name, value);
  return {};
}

/// RFC 9112 3.2, 3.2.2: exactly one Host on HTTP/1.1; an absolute-form target stands above it, so
/// that whoever checks Host sees the host that was really asked for.
Result<void> settle_host(std::string_view authority, Head& head) {
  const std::size_t count = head.request.header_count("Host");
  if (count > 1) return bad("There is more than one Host header.");
  if (count == 0 && !head.http_1_0) return bad("The Host header is missing.");
  if (count == 1 && !is_authority(*head.request.header("Host"))) {
    return bad("The Host header names no host.");
  }
  if (authority.empty()) return {};
  std::erase_if(head.request.headers,
                [](const auto& field) { return equals_ignoring_case(field.first, "Host"); });
  head.request.headers.emplace_back("Host", authority);
  return {};
}

/// RFC 9112 6: one Content-Length, or exactly `chunked` on HTTP/1.1, or neither.
Result<void> settle_framing(Head& head) {
  const std::size_t lengths = head.request.header_count("Content-Length");
  const std::size_t codings = head.request.header_count("Transfer-Encoding");
  if (lengths > 1) return bad("There is more than one Content-Length header.");
  if (lengths > 0 && codings > 0) {
    return bad("There are both Content-Length and Transfer-Encoding; send one of them.");
  }
  if (codings > 0) {
    if (head.http_1_0) return bad("HTTP/1.0 has no Transfer-Encoding; send a Content-Length.");
    if (codings > 1 ||
        !equals_ignoring_case(*head.request.header("Transfer-Encoding"), "chunked")) {
      return bad("The only Transfer-Encoding taken is 'chunked'.");
    }
    head.chunked = true;
  }
  if (lengths > 0) {
    const std::string_view text = *head.request.header("Content-Length");
    const auto length = parse_whole_number(text);
    const bool canonical = text == "0" || !text.starts_with('0');
    if (!length || !canonical) {
      return bad("The Content-Length is not a plain decimal number.");
    }
    head.request.content_length = *length;
  }
  return {};
}

bool lists(const Request& request, std::string_view name, std::string_view item) {
  for (const auto& [field, value] : request.headers) {
    if (!equals_ignoring_case(field, name)) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      if (equals_ignoring_case(trim(take_until(rest, ',')), item)) return true;
    }
  }
  return false;
}

}  // namespace

Result<void> HeadScanner::check_limits() const {
  if (lines_ == 0) {
    if (seen_ - line_start_ <= kRequestLineBytesMax + 2) return {};
    return has_space_ ? uri_too_long() : bad("The request does not begin with a method.");
  }
  if (lines_ > kHeadersMax + 1) return headers_too_large();
  if (seen_ - fields_start_ > limits::kHeaderBytesMax + 2) return headers_too_large();
  return {};
}

Result<std::optional<std::size_t>> HeadScanner::scan(std::string_view bytes) {
  while (seen_ < bytes.size()) {
    const char c = bytes[seen_];
    const bool after_return = seen_ > 0 && bytes[seen_ - 1] == '\r';
    if (c == '\0') return bad("There is a NUL in the request's head.");
    if ((c == '\n') != after_return) {
      return bad("A line of the request's head does not end with CR LF.");
    }
    ++seen_;
    if (c == ' ') has_space_ = true;
    STRATA_RETURN_IF_ERROR(check_limits());
    if (c != '\n') continue;
    const bool empty = seen_ - line_start_ == 2;
    line_start_ = seen_;
    if (!empty) {
      if (++lines_ == 1) fields_start_ = seen_;
    } else if (lines_ > 0) {
      return seen_;
    } else if (seen_ > 2) {
      return bad("There are empty lines before the request.");  // RFC 9112 2.2: one is forgiven
    }
  }
  return std::nullopt;
}

Result<void> parse_head(std::string_view bytes, Head& head) {
  if (bytes.starts_with("\r\n")) bytes.remove_prefix(2);
  STRATA_RETURN_IF_ERROR(parse_request_line(take_line(bytes), head));
  STRATA_ASSIGN_OR_RETURN(const std::string_view authority, parse_target(head));
  for (std::string_view line = take_line(bytes); !line.empty(); line = take_line(bytes)) {
    STRATA_RETURN_IF_ERROR(parse_field(line, head.request.headers));
  }
  STRATA_RETURN_IF_ERROR(settle_host(authority, head));
  STRATA_RETURN_IF_ERROR(settle_framing(head));
  head.keep_alive = !head.http_1_0 && !lists(head.request, "Connection", "close");
  head.expects_continue = !head.http_1_0 && lists(head.request, "Expect", "100-continue");
  return {};
}

}  // namespace strata::http
