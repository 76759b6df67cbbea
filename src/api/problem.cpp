#include "api/problem.h"

#include <boost/json.hpp>
#include <utility>

#include "stream/rejects.h"

namespace strata::api {
namespace {

namespace json = boost::json;

struct Row {
  Code code;
  int status;
  std::string_view name;
  std::string_view title;
};

constexpr Row kRows[] = {
    {Code::kBadRequest, 400, "bad_request", "The request cannot be understood"},
    {Code::kBadBatch, 400, "bad_batch", "The batch was refused; nothing landed"},
    {Code::kBadId, 400, "bad_id", "The name is not allowed"},
    {Code::kBadEncoding, 400, "bad_batch", "The batch was refused; nothing landed"},
    {Code::kNotYet, 400, "not_yet", "This is not built yet"},
    {Code::kSqlError, 400, "sql_error", "The SQL has an error"},
    {Code::kUnauthorized, 401, "unauthorized", "A valid token is needed"},
    {Code::kForbidden, 403, "forbidden", "Not allowed"},
    {Code::kSqlRefused, 403, "sql_refused", "This kind of SQL is not run"},
    {Code::kNotFound, 404, "not_found", "Nothing is here"},
    {Code::kUnknownKnowledgebase, 404, "unknown_knowledgebase", "No such knowledgebase"},
    {Code::kUnknownStream, 404, "unknown_stream", "No such stream"},
    {Code::kUnknownTable, 404, "unknown_table", "No such table"},
    {Code::kUnknownJob, 404, "unknown_job", "No such job"},
    {Code::kMethodNotAllowed, 405, "method_not_allowed", "The method does not fit this path"},
    {Code::kNotAcceptable, 406, "not_acceptable", "The answer has no such format"},
    {Code::kRequestTimeout, 408, "request_timeout", "The request took too long to arrive"},
    {Code::kConflict, 409, "conflict", "Something else stands under this name"},
    {Code::kViewDeferred, 409, "view_deferred", "Nothing has landed in this stream yet"},
    {Code::kOntologyRunning, 409, "ontology_running", "Ontology is being applied already"},
    {Code::kBackendUnsupported, 409, "backend_unsupported", "This backend cannot do it"},
    {Code::kEmptyStream, 409, "empty_stream", "The stream has no rows"},
    {Code::kJobRunning, 409, "job_running", "Another job of this knowledgebase is under way"},
    {Code::kJobEnded, 409, "job_ended", "The job has ended"},
    {Code::kLengthRequired, 411, "length_required", "The body's length is missing"},
    {Code::kBodyTooLarge, 413, "body_too_large", "The body is too large"},
    {Code::kUriTooLong, 414, "uri_too_long", "The address is too long"},
    {Code::kUnsupportedMediaType, 415, "unsupported_media_type", "This media type is not taken"},
    {Code::kUnsupportedEncoding, 415, "unsupported_encoding", "This encoding is not taken"},
    {Code::kUnknownHost, 421, "unknown_host", "This server does not answer for that host"},
    {Code::kBatchIdReused, 422, "batch_id_reused", "The batch id belongs to other content"},
    {Code::kOutOfMemory, 422, "out_of_memory", "The query needs too much memory"},
    {Code::kHeadersTooLarge, 431, "headers_too_large", "The headers are too large"},
    {Code::kCancelled, 499, "cancelled", "The client left before the answer was there"},
    {Code::kBusy, 503, "busy", "Busy"},
    {Code::kMigrating, 503, "migrating", "The knowledgebase's catalog is being moved"},
    {Code::kDegraded, 503, "degraded", "Strata takes no batches now"},
    {Code::kIo, 503, "io_error", "A read or write failed"},
    {Code::kTimeout, 504, "timeout", "The query took too long"},
    {Code::kDiskFull, 507, "disk_full", "The disk is full"},
    {Code::kExists, 409, "conflict", "Something else stands under this name"},
    {Code::kInternal, 500, "internal", "Something went wrong in Strata"},
};

const Row& row_of(Code code) {
  for (const Row& row : kRows) {
    if (row.code == code) return row;
  }
  STRATA_CHECK(false);
}

json::object members(const Error& error, const http::Request& request) {
  const Row& row = row_of(error.code);
  const bool shown = error.code != Code::kInternal;
  return {{"type", "urn:strata:error:" + std::string(row.name)},
          {"title", row.title},
          {"status", row.status},
          {"detail", shown ? error.message
                           : "Tell whoever runs this server the request id; its log says more."},
          {"code", row.name},
          {"request_id", request.request_id}};
}

http::Response respond(const Error& error, json::object body) {
  http::Response response;
  response.status = row_of(error.code).status;
  response.headers.emplace_back("Content-Type", "application/problem+json");
  if (response.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (response.status == 503 || response.status == 507) {
    response.headers.emplace_back("Retry-After", "1");
  }
  response.body = json::serialize(body);
  response.body += '\n';
  return response;
}

}  // namespace

int status_of(Code code) { return row_of(code).status; }

std::string_view wire_name(Code code) { return row_of(code).name; }

http::Response problem(const Error& error, const http::Request& request) {
  return respond(error, members(error, request));
}

http::Response job_problem(const Error& error, const std::string& job,
                           const http::Request& request) {
  json::object body = members(error, request);
  body["job"] = job;
  return respond(error, std::move(body));
}

http::Response batch_problem(const Error& error, const ndjson::Rejection& rejection,
                             const http::Request& request) {
  json::object body = members(error, request);
  body["errors"] = stream::reasons_json(rejection);
  body["error_count"] = rejection.error_count;
  return respond(error, std::move(body));
}

}  // namespace strata::api
