#include "api/routes.h"

#include <spdlog/spdlog.h>

#include <expected>
#include <optional>
#include <utility>

#include "api/caller.h"
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

/// Why the caller may not, if so. Says nothing of what there is.
std::optional<http::Response> denial(const Operation& operation, const http::Request& request,
                                     Services& services) {
  const auto allowed = authorize(operation, request, services);
  if (allowed) return std::nullopt;
  log_failure(allowed.error(), request);
  return problem(allowed.error(), request);
}

/// The problem as the caller may read it.
http::Response refusal(Error error, const http::Request& request, Services& services) {
  log_failure(error, request);
  if (error.code == Code::kUnknownKnowledgebase || error.code == Code::kUnknownStream) {
    const auto caller = caller_of(request, services);
    error = caller ? as_seen_by(*caller, std::move(error), request) : caller.error();
  }
  return problem(error, request);
}

/// An answer that goes on for long ends with the token that asked for it.
class SourceOfToken final : public http::BodySource {
 public:
  SourceOfToken(std::unique_ptr<http::BodySource> source, const Operation& operation,
                const http::Request& request, Services& services)
      : source_(std::move(source)), operation_(operation), services_(services) {
    head_.params = request.params;
    head_.headers = request.headers;
  }

  Result<std::optional<std::string>> next() override {
    STRATA_RETURN_IF_ERROR(authorize(operation_, head_, services_));
    return source_->next();
  }
  std::chrono::milliseconds pause() const override { return source_->pause(); }

 private:
  const std::unique_ptr<http::BodySource> source_;
  const Operation& operation_;
  Services& services_;
  http::Request head_;  // what authorize() goes by
};

http::Handler handler(const Operation& operation, Services& services) {
  return [&operation, &services](const http::Request& request) {
    // A body may be half a minute on its way and a query a whole one at work: what was revoked
    // meanwhile is felt all the same.
    if (auto denied = denial(operation, request, services)) return std::move(*denied);
    auto response = operation.handle(request, services);
    if (!response) return refusal(std::move(response).error(), request, services);
    if (operation.lane == http::Lane::kQuery) {
      if (auto denied = denial(operation, request, services)) return std::move(*denied);
    }
    if (response->source && needs_token(operation, services)) {
      response->source = std::make_unique<SourceOfToken>(std::move(response->source), operation,
                                                         request, services);
    }
    return std::move(*response);
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
    // Before anything else is looked at: no handler and no counter meets a caller that may not.
    if (auto denied = denial(operation, head, services)) {
      return std::unexpected(std::move(*denied));
    }
    if (operation.admit == nullptr) return limits::kControlBodyBytesMax;
    const auto limit = operation.admit(head, services);
    if (limit) return *limit;
    if (is_ingest(head)) {
      count_refused(head, services, status_of(limit.error().code) < 500 ? "rejected" : "error");
    }
    return std::unexpected(refusal(limit.error(), head, services));
  };
}

/// A look at the tokens may wait for the disk, which no thread of the sockets does.
http::Lane lane_of(const Operation& operation, const Services& services) {
  const bool may_wait = operation.lane == http::Lane::kInline && needs_token(operation, services);
  return may_wait ? http::Lane::kControl : operation.lane;
}

}  // namespace

std::vector<http::Route> make_routes(Services& services) {
  std::vector<http::Route> routes;
  for (const Operation& operation : operations()) {
    routes.push_back({.method = std::string(operation.method),
                      .pattern = std::string(operation.pattern),
                      .lane = lane_of(operation, services),
                      .admit = admission(operation, services),
                      .handler = handler(operation, services),
                      .takes_encodings = operation.takes_encodings,
                      .ends_with_client = operation.lane == http::Lane::kQuery});
  }
  return routes;
}

http::Response error_page(const Error& error, const http::Request& head, Services& services) {
  if (error.code == Code::kBodyTooLarge && is_ingest(head)) {
    Error too_large = error;
    too_large.message +=
        " Split it: strata send does. For one record that is larger, whoever administers the "
        "receiver raises its limit: strata receiver set KB STREAM --max-body BYTES.";
    count_refused(head, services, "too_large");
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
