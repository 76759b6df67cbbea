#include "http/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "http/text.h"

namespace strata::http {
namespace {

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 507:
      return "Insufficient Storage";
    default:
      return "";  // RFC 9112 4: may be empty
  }
}

/// IMF-fixdate, RFC 9110 5.6.7.
std::string format_date(WallTime time) {
  constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return fmt::format(
      "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[std::chrono::weekday(day).c_encoding()],
      static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
      static_cast<int>(date.year()), clock.hours().count(), clock.minutes().count(),
      clock.seconds().count());
}

bool is_servers_own(std::string_view name) {
  constexpr std::array<std::string_view, 9> kOwn = {
      "Connection", "Content-Length", "Transfer-Encoding",     "Keep-Alive", "Upgrade", "Date",
      "Server",     "X-Request-Id",   "X-Content-Type-Options"};
  return std::ranges::any_of(kOwn, [&](auto own) { return equals_ignoring_case(own, name); });
}

}  // namespace

bool may_have_body(int status) { return status >= 200 && status != 204 && status != 304; }

std::string render_head(const Response& response, const ReplyFacts& facts) {
  std::string head;
  auto out = std::back_inserter(head);
  fmt::format_to(out, "HTTP/1.1 {} {}\r\nDate: {}\r\nServer: strata\r\nX-Request-Id: {}\r\n",
                 response.status, reason_phrase(response.status), format_date(facts.now),
                 facts.request_id);
  head += "X-Content-Type-Options: nosniff\r\n";
  for (const auto& [name, value] : response.headers) {
    if (!is_token(name) || is_servers_own(name)) continue;
    std::string safe = value;
    if (!is_field_value(safe)) {
      std::ranges::replace_if(
          safe, [](char c) { return !is_field_value(std::string_view(&c, 1)); }, ' ');
    }
    fmt::format_to(out, "{}: {}\r\n", name, safe);
  }
  if (facts.framing == BodyFraming::kChunked) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (facts.framing == BodyFraming::kLength && may_have_body(response.status)) {
    fmt::format_to(out, "Content-Length: {}\r\n", response.body.size());
  }
  if (!facts.keep_alive) head += "Connection: close\r\n";
  head += "\r\n";
  return head;
}

std::string render_chunk(std::string_view content) {
  return fmt::format("{:x}\r\n{}\r\n", content.size(), content);
}

}  // namespace strata::http
