#include <fmt/format.h>

#include <utility>

#include "api/handlers.h"
#include "api/json.h"
#include "api/paging.h"
#include "base/clock.h"

namespace strata::api {
namespace {

namespace json = boost::json;

/// What `failed/<name>.err` says; it is a file, so nothing of its shape is taken for granted.
struct Reasons {
  std::string rejected_at;
  json::object members;  // all there is

  json::array errors() const {
    const json::value* found = members.if_contains("errors");
    return found != nullptr && found->is_array() ? found->get_array() : json::array();
  }
};

Reasons read_reasons(const stream::Rejects::Entry& entry) {
  Reasons reasons;
  boost::system::error_code error;
  json::value value = json::parse(entry.reason_json, error);
  if (!error && value.is_object()) reasons.members = std::move(value.get_object());
  const json::value* at = reasons.members.if_contains("rejected_at");
  reasons.rejected_at = at != nullptr && at->is_string() ? std::string(at->get_string())
                                                         : format_iso8601(entry.kept_at);
  return reasons;
}

json::value member_or(const json::object& object, std::string_view name, json::value otherwise) {
  const json::value* found = object.if_contains(name);
  return found == nullptr ? std::move(otherwise) : *found;
}

/// Mended: the very id has landed since. Asked of the claim, which is the truth, and not kept.
Result<std::string_view> state_of(stream::Stream& stream, const std::string& name) {
  STRATA_ASSIGN_OR_RETURN(const BatchId id, BatchId::parse(name));
  STRATA_ASSIGN_OR_RETURN(const auto landed, stream.publisher().find(id));
  return landed ? "fixed" : "open";
}

/// Of the list: the first reason stands for all of them.
Result<json::object> render_row(const stream::Rejects::Entry& entry, stream::Stream& stream) {
  const Reasons reasons = read_reasons(entry);
  STRATA_ASSIGN_OR_RETURN(const std::string_view state, state_of(stream, entry.name));
  json::object row{{"batch_id", entry.name},
                   {"state", state},
                   {"rejected_at", reasons.rejected_at},
                   {"bytes", entry.body_bytes},
                   {"code", member_or(reasons.members, "code", nullptr)},
                   {"error_count", member_or(reasons.members, "error_count", 0)}};
  const json::array errors = reasons.errors();
  if (!errors.empty() && errors.front().is_object()) {
    for (const auto& [name, value] : errors.front().get_object()) row[name] = value;
  } else {
    row["reason"] = member_or(reasons.members, "detail", nullptr);
  }
  return row;
}

Result<json::object> render(const stream::Rejects::Entry& entry, stream::Stream& stream) {
  const Reasons reasons = read_reasons(entry);
  STRATA_ASSIGN_OR_RETURN(const std::string_view state, state_of(stream, entry.name));
  return json::object{
      {"batch_id", entry.name},
      {"state", state},
      {"rejected_at", reasons.rejected_at},
      {"bytes", entry.body_bytes},
      {"code", member_or(reasons.members, "code", nullptr)},
      {"detail", member_or(reasons.members, "detail", "The reasons of this one were not kept.")},
      {"body_sha256", member_or(reasons.members, "body_sha256", nullptr)},
      {"errors", reasons.errors()},
      {"error_count", member_or(reasons.members, "error_count", 0)}};
}

class RejectedBody final : public http::BodySource {
 public:
  explicit RejectedBody(stream::Rejects::Body body) : body_(std::move(body)) {}

  Result<std::optional<std::string>> next() override {
    STRATA_ASSIGN_OR_RETURN(std::string piece, body_.next());
    if (piece.empty()) return std::nullopt;
    return piece;
  }

 private:
  stream::Rejects::Body body_;
};

/// To be kept as a file, never shown: it is anybody's text. The server adds nosniff.
Result<http::Response> attachment(const BatchId& id, stream::Stream& stream) {
  STRATA_ASSIGN_OR_RETURN(stream::Rejects::Body body, stream.rejects().open_body(id));
  http::Response response;
  response.headers.emplace_back("Content-Type", "application/x-ndjson");
  // An id needs no quoting here: letters, digits, dot, dash and underscore.
  response.headers.emplace_back("Content-Disposition",
                                fmt::format("attachment; filename=\"{}.ndjson\"", id.str()));
  response.headers.emplace_back("Cache-Control", "no-store");
  response.source = std::make_unique<RejectedBody>(std::move(body));
  return response;
}

}  // namespace

Result<http::Response> list_rejects(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const PageRequest asked, read_page(request));
  STRATA_ASSIGN_OR_RETURN(const auto page, stream->rejects().page(asked.limit, asked.before));
  json::array list;
  for (const stream::Rejects::Entry& entry : page.entries) {
    STRATA_ASSIGN_OR_RETURN(json::object row, render_row(entry, *stream));
    list.push_back(std::move(row));
  }
  const stream::Rejects::Kept kept = stream->rejects().kept();
  return json_response(200, json::object{{"rejects", std::move(list)},
                                         {"next", page.next ? json::value(*page.next) : nullptr},
                                         {"count", kept.count},
                                         {"bytes", kept.bytes},
                                         {"dropped", kept.dropped}});
}

Result<http::Response> get_reject(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const BatchId id, batch_of(request));
  const auto body = request.query.find("body");
  if (body != request.query.end() && body->second == "1") return attachment(id, *stream);
  STRATA_ASSIGN_OR_RETURN(const stream::Rejects::Entry entry, stream->rejects().find(id));
  STRATA_ASSIGN_OR_RETURN(const json::object reject, render(entry, *stream));
  return json_response(200, reject);
}

Result<http::Response> delete_reject(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const BatchId id, batch_of(request));
  STRATA_RETURN_IF_ERROR(stream->rejects().remove(id));
  return json_response(200, json::object{{"batch_id", id.str()}, {"deleted", true}});
}

}  // namespace strata::api
