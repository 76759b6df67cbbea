#include <boost/url/parse.hpp>

#include "api/problem.h"
#include "api/routes.h"
#include "base/cells.h"

namespace strata::api {
namespace {

constexpr std::string_view kLoopbackNames[] = {"localhost", "127.0.0.1", "[::1]"};

/// `host` of `host:port`, lower case.
std::string host_of(std::string_view authority) {
  const auto bracket = authority.rfind(']');
  const auto colon = authority.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  return ascii_lower(has_port ? authority.substr(0, colon) : authority);
}

bool is_allowed(const std::string& host, const std::set<std::string>& allowed_hosts) {
  for (const std::string_view name : kLoopbackNames) {
    if (host == name) return true;
  }
  return allowed_hosts.contains(host);
}

}  // namespace

std::optional<http::Response> guard(const http::Request& head,
                                    const std::set<std::string>& allowed_hosts) {
  const auto host = head.header("Host");
  if (host && !is_allowed(host_of(*host), allowed_hosts)) {
    return problem(make_error(Code::kUnknownHost,
                              "This server answers for localhost only; start it with --allow-host "
                              "NAME to let it answer for another name."),
                   head);
  }
  const Error foreign =
      make_error(Code::kForbidden,
                 "A page of another site may not talk to this server; send the request from "
                 "a program, or from a page of this server.");
  if (const auto site = head.header("Sec-Fetch-Site");
      site && (*site == "cross-site" || *site == "same-site")) {
    return problem(foreign, head);
  }
  if (const auto origin = head.header("Origin")) {
    const auto url = boost::urls::parse_uri({origin->data(), origin->size()});
    const bool own = url && host && std::string_view(url->encoded_authority()) == *host;
    if (!own) return problem(foreign, head);
  }
  return std::nullopt;
}

}  // namespace strata::api
