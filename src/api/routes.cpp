#include "api/routes.h"

#include <spdlog/spdlog.h>

#include <expected>
#include <utility>

#include "api/handlers.h"
#include "api/problem.h"

namespace strata::api {
namespace {

using Handle = Result<http::Response> (*)(const http::Request&, Services&);

/// ".../strata" in interface.md.
constexpr char kStrata[] = "/knowledgebase/{kb}/strata";

/// What the client is not told, for whoever runs the server.
void log_failure(const Error& error, const http::Request& request) {
  if (status_of(error.code) < 500) return;
  spdlog::error("{} {} {}: {} [{}]", request.request_id, request.method, request.path,
                error.message, error.detail);
}

http::Handler handler(Handle handle, Services& services) {
  return [handle, &services](const http::Request& request) {
    auto response = handle(request, services);
    if (response) return std::move(*response);
    log_failure(response.error(), request);
    return problem(response.error(), request);
  };
}

bool is_ingest(const http::Request& head) {
  return head.params.contains("stream") && head.path.find("/strata/ingest/") != std::string::npos;
}

/// Only for streams that there are: a label a client makes up would be a series for ever.
void count_refused(const http::Request& head, Services& services, std::string_view result) {
  const auto stream = stream_of(head, services);
  if (!stream) return;
  services.metrics.count_batch({(*stream)->knowledgebase().id().str(), (*stream)->id().str()},
                               result);
}

http::Admit admit_ingest(Services& services) {
  return [&services](const http::Request& head) -> std::expected<std::uint64_t, http::Response> {
    const auto limit = admit_batch(head, services);
    if (limit) return *limit;
    count_refused(head, services, status_of(limit.error().code) < 500 ? "rejected" : "error");
    log_failure(limit.error(), head);
    return std::unexpected(problem(limit.error(), head));
  };
}

}  // namespace

std::vector<http::Route> make_routes(Services& services) {
  const std::string strata = kStrata;
  const auto route = [&](std::string method, std::string pattern, http::Lane lane, Handle handle) {
    return http::Route{.method = std::move(method),
                       .pattern = std::move(pattern),
                       .lane = lane,
                       .admit = {},
                       .handler = handler(handle, services)};
  };
  using enum http::Lane;
  std::vector<http::Route> routes;
  routes.push_back(route("GET", "/healthz", kInline, get_healthz));
  routes.push_back(route("GET", "/readyz", kControl, get_readyz));
  routes.push_back(route("GET", "/metrics", kControl, get_metrics));
  routes.push_back(route("POST", "/knowledgebase", kControl, post_knowledgebase));
  routes.push_back(route("GET", "/knowledgebase", kControl, list_knowledgebases));
  routes.push_back(route("GET", "/knowledgebase/{kb}", kControl, get_knowledgebase));
  routes.push_back(route("GET", "/knowledgebase/{kb}/documents", kControl, list_documents));
  routes.push_back(route("POST", strata + "/receivers", kControl, post_receiver));
  routes.push_back(route("GET", strata + "/receivers", kControl, list_receivers));
  routes.push_back(route("GET", strata + "/receivers/{stream}", kControl, get_receiver));
  routes.push_back(route("POST", strata + "/receivers/{stream}/resync", kControl, post_resync));
  routes.push_back(route("GET", strata + "/tables", kControl, list_tables));
  routes.push_back(route("POST", strata + "/query", kQuery, run_query));
  routes.push_back(route("GET", strata + "/query", kQuery, run_query));
  http::Route ingest = route("POST", strata + "/ingest/{stream}", kCommit, post_batch);
  ingest.admit = admit_ingest(services);
  routes.push_back(std::move(ingest));
  return routes;
}

http::Response error_page(const Error& error, const http::Request& head, Services& services) {
  if (error.code != Code::kBodyTooLarge) return problem(error, head);
  Error too_large = error;
  too_large.message += " Split it: strata send does.";
  if (is_ingest(head)) count_refused(head, services, "too_large");
  return problem(too_large, head);
}

}  // namespace strata::api
