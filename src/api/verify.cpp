#include "stream/verify.h"

#include <utility>

#include "api/handlers.h"
#include "api/json.h"

namespace strata::api {
namespace {

namespace json = boost::json;

Result<stream::VerifyRequest> read_request(const http::Request& request) {
  stream::VerifyRequest asked;
  if (request.body.empty()) return asked;
  STRATA_ASSIGN_OR_RETURN(const json::object body,
                          read_json_body(request, {"quarantine", "after"}));
  if (const json::value* quarantine = body.if_contains("quarantine")) {
    if (!quarantine->is_bool()) {
      return make_error(Code::kBadRequest, "quarantine is true or false.");
    }
    asked.quarantine = quarantine->as_bool();
  }
  if (const json::value* after = body.if_contains("after"); after && !after->is_null()) {
    if (!after->is_string()) {
      return make_error(Code::kBadRequest, "after is the `next` of the page before.");
    }
    asked.after = std::string_view(after->as_string());
  }
  return asked;
}

json::object render(const stream::Finding& finding) {
  json::object body{{"path", finding.path},
                    {"kind", stream::finding_kind_name(finding.kind)},
                    {"reason", finding.reason}};
  if (!finding.done.empty()) body["done"] = finding.done;
  if (!finding.failed.empty()) body["failed"] = finding.failed;
  return body;
}

}  // namespace

Result<http::Response> post_verify(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const stream::VerifyRequest asked, read_request(request));
  STRATA_ASSIGN_OR_RETURN(const auto page,
                          stream::verify(services.stream_services, *stream, asked));
  json::array problems;
  for (const stream::Finding& finding : page.problems) problems.push_back(render(finding));
  const stream::Totals totals = stream->numbers().totals();
  return json_response(200,
                       json::object{{"stream", stream->id().str()},
                                    {"problems", std::move(problems)},
                                    {"leftovers", json::value_from(page.leftovers)},
                                    {"files", page.files},
                                    {"rows", page.rows},
                                    {"bytes", page.bytes},
                                    {"finished", page.finished},
                                    {"numbers", {{"files", totals.files}, {"rows", totals.rows}}},
                                    {"next", page.next ? json::value(*page.next) : json::value()}});
}

}  // namespace strata::api
