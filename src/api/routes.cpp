#include "api/routes.h"

#include <spdlog/spdlog.h>

#include <expected>
#include <utility>

#include "api/handlers.h"
#include "api/operations.h"
#include "api/problem.h"
#include "base/limits.h"

namespace strata::api {
namespace {

/// What the client is not told, for whoever runs the server.
void log_failure(const Error& error, const http::Request& request) {
  if (status_of(error.code) < 500) return;
  spdlog::error("{} {} {}: {} [{}]", request.request_id, request.method, request.path,
                error.message, error.detail);
}

http::Handler handler(HandleFunction handle, Services& services) {
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

http::Admit admission(const Operation& operation, Services& services) {
  return [&operation,
          &services](const http::Request& head) -> std::expected<std::uint64_t, http::Response> {
    if (operation.admit == nullptr) return limits::kControlBodyBytesMax;
    const auto limit = operation.admit(head, services);
    if (limit) return *limit;
    if (is_ingest(head)) {
      count_refused(head, services, status_of(limit.error().code) < 500 ? "rejected" : "error");
    }
    log_failure(limit.error(), head);
    return std::unexpected(problem(limit.error(), head));
  };
}

}  // namespace

std::vector<http::Route> make_routes(Services& services) {
  std::vector<http::Route> routes;
  for (const Operation& operation : operations()) {
    routes.push_back({.method = std::string(operation.method),
                      .pattern = std::string(operation.pattern),
                      .lane = operation.lane,
                      .admit = admission(operation, services),
                      .handler = handler(operation.handle, services),
                      .takes_encodings = operation.takes_encodings,
                      .ends_with_client = operation.lane == http::Lane::kQuery});
  }
  return routes;
}

http::Response error_page(const Error& error, const http::Request& head, Services& services) {
  if (error.code == Code::kBodyTooLarge) {
    Error too_large = error;
    too_large.message += " Split it: strata send does.";
    if (is_ingest(head)) count_refused(head, services, "too_large");
    return problem(too_large, head);
  }
  const bool bad_encoding = error.code == Code::kBadEncoding;
  if (is_ingest(head) && (bad_encoding || error.code == Code::kUnsupportedEncoding)) {
    count_refused(head, services, "rejected");
  }
  if (bad_encoding) return batch_problem(error, {{{0, "", error.message}}, 1, ""}, head);
  return problem(error, head);
}

}  // namespace strata::api
