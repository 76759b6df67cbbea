#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "api/handlers.h"
#include "api/json.h"
#include "api/problem.h"
#include "base/limits.h"
#include "stream/landing.h"

namespace strata::api {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 4> kMediaTypes{
    "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"};

constexpr std::string_view kWithoutId =
    "no Idempotency-Key: sending this batch again would add its rows again";

std::string working_curl(const http::Request& head) {
  return fmt::format(
      "This works: curl --data-binary @FILE -H 'Content-Type: application/x-ndjson' "
      "-H 'Idempotency-Key: ID' http://{}{}",
      head.header("Host").value_or("HOST"), head.path);
}

/// Of what follows `charset=`.
bool names_utf8(std::string_view value) {
  std::string_view name = value.substr(0, value.find(';'));
  while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
  return name == "utf-8" || name == "\"utf-8\"" || name == "utf8";
}

Result<void> check_media_type(const http::Request& head) {
  const auto type = head.header("Content-Type");
  if (!type) {
    // A browser always names a type or its origin: without both, no page can be behind this.
    if (!head.header("Origin") && !head.header("Sec-Fetch-Site")) return {};
    return make_error(Code::kUnsupportedMediaType,
                      "A page has to send Content-Type: application/x-ndjson.");
  }
  const std::string media_type = media_type_of(*type);
  if (std::ranges::find(kMediaTypes, media_type) == kMediaTypes.end()) {
    std::string hint;
    if (media_type == "application/x-www-form-urlencoded") {
      hint = " (curl -d sends this type and loses the line ends)";
    } else if (media_type == "text/csv") {
      hint = " (CSV goes in by: strata send KB STREAM FILE.csv)";
    } else if (media_type == "application/json") {
      hint =
          " (one JSON object a line, not one JSON document: jq -c '.[]' FILE makes lines of an "
          "array)";
    }
    return make_error(Code::kUnsupportedMediaType,
                      fmt::format("A batch is application/x-ndjson, not '{}'{}. {}", media_type,
                                  hint, working_curl(head)));
  }
  const std::string parameters = ascii_lower(*type);
  const auto charset = parameters.find("charset=");
  if (charset != std::string::npos && !names_utf8(parameters.substr(charset + 8))) {
    return make_error(Code::kUnsupportedMediaType,
                      "A batch is UTF-8; re-encode it and send it "
                      "without a charset.");
  }
  return {};
}

/// HTTP would take a POST without both for one with an empty body; what is meant is a lost body.
Result<void> check_length(const http::Request& head) {
  if (head.content_length || head.header("Transfer-Encoding")) return {};
  return make_error(Code::kLengthRequired,
                    fmt::format("The request has no body, or does not say how long it is: send "
                                "Content-Length, or Transfer-Encoding: chunked. {}",
                                working_curl(head)));
}

/// A mistyped dry_run would land what was meant to be looked at only: no other name is taken.
Result<bool> is_dry_run(const http::Request& head) {
  for (const auto& [name, unused] : head.query) {
    if (name == "dry_run") continue;
    return make_error(
        Code::kBadRequest,
        fmt::format("The address has '{}', and ingest takes dry_run only; nothing was stored.",
                    name));
  }
  const auto value = head.query.find("dry_run");
  if (value == head.query.end() || value->second == "0" || value->second == "false") return false;
  if (value->second == "1" || value->second == "true") return true;
  return make_error(Code::kBadRequest,
                    "dry_run is 1 (check the batch and store nothing) or 0; nothing was stored.");
}

/// Nothing: the client named no id.
Result<std::optional<BatchId>> read_batch_id(const http::Request& request) {
  const std::size_t count = request.header_count("Idempotency-Key");
  if (count == 0) return std::nullopt;
  if (count > 1) {
    return make_error(Code::kBadId, "Idempotency-Key is sent more than once; send one.");
  }
  std::string_view text = *request.header("Idempotency-Key");
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  STRATA_ASSIGN_OR_RETURN(BatchId id, BatchId::parse(text));
  return id;
}

json::object render(const stream::Landed& landed) {
  const io::BatchFacts& facts = landed.facts;
  return {{"batch_id", facts.batch_id},
          {"rows", facts.rows},
          {"columns", facts.columns},
          {"bytes", facts.file_bytes},
          {"file", "data/" + facts.batch_id + ".parquet"},
          {"body_sha256", facts.body_sha256},
          {"file_sha256", facts.file_sha256},
          {"arrived_at", facts.arrived_at},
          {"replayed", landed.replayed}};
}

http::Response respond(const json::object& body, bool has_id) {
  http::Response response = json_response(200, body);
  if (!has_id) response.headers.emplace_back("Strata-Warning", kWithoutId);
  return response;
}

/// What the same request without dry_run would have been told. What only a landing makes is null: a
/// file, and an id for a batch without one.
http::Response respond_dry(const stream::Landed& landed, bool has_id) {
  json::object body = render(landed);
  if (!landed.replayed) body["bytes"] = body["file"] = body["file_sha256"] = nullptr;
  if (!has_id) body["batch_id"] = nullptr;
  body["dry_run"] = true;
  return respond(body, has_id);
}

std::string_view result_name(const Error& error) {
  return error.code == Code::kBadBatch || error.code == Code::kBadId ||
                 error.code == Code::kBatchIdReused
             ? "rejected"
             : "error";
}

}  // namespace

Result<std::uint64_t> admit_batch(const http::Request& head, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(head, services));
  STRATA_RETURN_IF_ERROR(is_dry_run(head));
  STRATA_RETURN_IF_ERROR(check_length(head));
  STRATA_RETURN_IF_ERROR(check_media_type(head));
  if (auto stop = services.root.ingest_stop(head.content_length.value_or(0))) {
    stop->message = "This Strata takes no batches now: " + stop->message;
    return *std::move(stop);
  }
  return stream->receiver().max_body_bytes;
}

Result<http::Response> post_batch(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const bool dry_run, is_dry_run(request));
  const Metrics::StreamLabels labels{stream->knowledgebase().id().str(), stream->id().str()};
  const auto count = [&](std::string_view result) {
    if (!dry_run) services.metrics.count_batch(labels, result);
  };
  auto id = read_batch_id(request);
  if (!id) {
    if (!dry_run) {
      stream::keep_rejected(services.stream_services, *stream, request.body, id.error());
    }
    count("rejected");
    return std::move(id).error();
  }
  const auto landed = stream::land(
      services.stream_services, *stream,
      {.body = request.body, .id = *id, .arrived_at = request.arrived_at, .dry_run = dry_run});
  if (!landed) {
    const stream::Refusal& refusal = landed.error();
    count(result_name(refusal.error));
    if (refusal.rejection) return batch_problem(refusal.error, *refusal.rejection, request);
    return refusal.error;
  }
  if (dry_run) return respond_dry(*landed, id->has_value());
  count(landed->replayed ? "replayed" : "landed");
  if (!landed->replayed) services.metrics.count_rows(labels, landed->facts.rows);
  // The 200 promises landing; that the rows can be queried at once is a courtesy with a limit.
  services.views.want_and_wait_if_few(*stream, limits::kFirstViewWait);
  services.metrics.observe_ack(services.clock.wall() - request.arrived_at);
  return respond(render(*landed), id->has_value());
}

}  // namespace strata::api
