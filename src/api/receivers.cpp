#include <fmt/format.h>

#include "api/caller.h"
#include "api/handlers.h"
#include "api/json.h"
#include "api/problem.h"

namespace strata::api {
namespace {

namespace json = boost::json;

/// From here on a query pays for every file's footer; compaction is a later issue.
constexpr std::uint64_t kFilesAdvice = 1000;

json::object render_view(const stream::Stream& stream) {
  json::object view{{"name", stream.table()},
                    {"state", stream::view_state_name(stream.view_state())}};
  if (stream.view_state() == stream::ViewState::kError) view["reason"] = stream.view_error();
  return view;
}

/// Whether batches are taken; of the largest one it may be told otherwise.
json::object render_ingest(Services& services) {
  const auto stop = services.root.ingest_stop(0);
  if (!stop) return {{"state", "open"}};
  return {{"state", "stopped"}, {"code", wire_name(stop->code)}, {"reason", stop->message}};
}

json::object render(stream::Stream& stream, Services& services) {
  const stream::Receiver receiver = stream.receiver();
  const stream::Totals totals = stream.numbers().totals();
  const std::string kb = stream.knowledgebase().id().str();
  json::object body;
  body["stream"] = receiver.stream;
  body["columns"] = receiver.columns ? json::value_from(*receiver.columns) : json::value();
  body["partition"] = receiver.partition;
  body["max_body_bytes"] = receiver.max_body_bytes;
  body["view"] = render_view(stream);
  body["ingest"] = render_ingest(services);
  if (const auto file = services.unreadable_files.of(stream, services.stream_services.fs)) {
    body["unreadable"] = *file;
    body["advice"] = fmt::format(
        "Queries fail over {}: see what it is with strata verify {} {}, and move it out of the way "
        "with --quarantine.",
        *file, stream.knowledgebase().id().str(), receiver.stream);
  }
  body["rows"] = totals.rows;
  body["files"] = totals.files;
  body["bytes"] = totals.bytes;
  body["last_landed"] =
      totals.last_landed.empty() ? json::value() : json::value(totals.last_landed);
  body["rejected"] = stream.rejects().kept().count;
  if (totals.files >= kFilesAdvice && !body.contains("advice")) {
    body["advice"] =
        fmt::format("{} files: every query opens each of them. Larger batches keep queries fast.",
                    totals.files);
  }
  body["ingest_url"] = fmt::format("/knowledgebase/{}/strata/ingest/{}", kb, receiver.stream);
  return body;
}

Result<std::vector<std::string>> read_columns(const json::value& value) {
  const Error bad = make_error(
      Code::kBadRequest, R"(columns is a list of names, such as ["ts","sensor_id"], or null.)");
  const json::array* names = value.if_array();
  if (names == nullptr) return bad;
  std::vector<std::string> columns;
  for (const json::value& name : *names) {
    if (!name.is_string()) return bad;
    columns.emplace_back(name.as_string());
  }
  return columns;
}

/// The settings a body names.
Result<stream::ReceiverChange> read_settings(const json::object& body) {
  stream::ReceiverChange settings;
  if (const json::value* columns = body.if_contains("columns")) {
    settings.columns.emplace();
    if (!columns->is_null()) {
      STRATA_ASSIGN_OR_RETURN(*settings.columns, read_columns(*columns));
    }
  }
  if (const json::value* partition = body.if_contains("partition")) {
    if (!partition->is_string()) {
      return make_error(Code::kBadRequest, "partition is one of none, day, hour.");
    }
    settings.partition = std::string_view(partition->as_string());
  }
  if (const json::value* limit = body.if_contains("max_body_bytes")) {
    boost::system::error_code error;
    settings.max_body_bytes = limit->to_number<std::uint64_t>(error);
    if (error) return make_error(Code::kBadRequest, "max_body_bytes is a whole number of bytes.");
  }
  return settings;
}

}  // namespace

Result<stream::Stream*> stream_of(const http::Request& request, Services& services) {
  if (stream::Stream* const stream = services.streams.find_looked_at_since(
          request.params.at("kb"), request.params.at("stream"), request.arrived_steady)) {
    return stream;
  }
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  const std::string& typed = request.params.at("stream");
  const auto id = StreamId::parse(typed);
  if (!id) return services.streams.unknown_stream(*knowledgebase, typed);
  return services.streams.find(*knowledgebase, *id);
}

Result<http::Response> post_receiver(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  STRATA_ASSIGN_OR_RETURN(
      const json::object body,
      read_json_body(request, {"stream", "columns", "partition", "max_body_bytes"}));
  const json::value* name = body.if_contains("stream");
  if (name == nullptr || !name->is_string()) {
    return make_error(Code::kBadRequest, R"(Name the stream: {"stream":"weather"}.)");
  }
  STRATA_ASSIGN_OR_RETURN(const StreamId id, StreamId::parse(std::string_view(name->as_string())));
  STRATA_ASSIGN_OR_RETURN(const auto settings, read_settings(body));
  STRATA_ASSIGN_OR_RETURN(
      const auto made, services.streams.create(*knowledgebase, id, stream::changed({}, settings)));
  return json_response(made.made ? 201 : 200, render(*made.stream, services));
}

Result<http::Response> list_receivers(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const Caller caller, caller_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const auto streams, services.streams.list(*knowledgebase));
  json::array list;
  for (stream::Stream* stream : streams) {
    const bool seen = caller.sees(knowledgebase->id().str(), stream->id().str());
    if (seen) list.push_back(render(*stream, services));
  }
  return json_response(200, json::object{{"receivers", std::move(list)}});
}

Result<http::Response> get_receiver(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  return json_response(200, render(*stream, services));
}

Result<http::Response> patch_receiver(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const json::object body,
                          read_json_body(request, {"columns", "partition", "max_body_bytes"}));
  STRATA_ASSIGN_OR_RETURN(const auto settings, read_settings(body));
  STRATA_RETURN_IF_ERROR(services.streams.change(*stream, settings, services.own_workers));
  return json_response(200, render(*stream, services));
}

Result<http::Response> delete_receiver(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const std::string moved_to, services.streams.remove(*stream));
  return json_response(200, json::object{{"stream", stream->id().str()}, {"moved_to", moved_to}});
}

Result<http::Response> post_resync(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  if (stream->numbers().totals().files > 0) {
    STRATA_RETURN_IF_ERROR(services.views.resync(*stream));
  }
  return json_response(200, json::object{{"view", render_view(*stream)}});
}

}  // namespace strata::api
