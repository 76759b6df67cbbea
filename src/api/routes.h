#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/services.h"
#include "http/server.h"

namespace strata::api {

/// Every route there is. `services` outlives them.
std::vector<http::Route> make_routes(Services& services);

/// The bodies of what the server refuses by itself.
http::Response error_page(const Error& error, const http::Request& head, Services& services);

/// Host must be a loopback name or one of `allowed_hosts` (else 421: DNS rebinding); a request of a
/// page from elsewhere is 403. An answer ends the request.
std::optional<http::Response> guard(const http::Request& head,
                                    const std::set<std::string>& allowed_hosts);

/// The readings for Metrics::on_look. `server`: null until it has started.
std::vector<Metrics::Reading> readings(Services& services, const http::Server* server);

}  // namespace strata::api
