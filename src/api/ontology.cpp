#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <map>
#include <optional>
#include <utility>

#include "api/handlers.h"
#include "api/jobs.h"
#include "api/json.h"
#include "io/kill_point.h"
#include "ontology/applied.h"
#include "ontology/apply.h"
#include "ontology/settle.h"
#include "stream/view_job.h"

namespace strata::api {
namespace {

namespace json = boost::json;
using ontology::Applied;
using ontology::AppliedStream;

/// The streams of one kb.
class StreamTables final : public ontology::TableSource {
 public:
  StreamTables(kb::Knowledgebase& knowledgebase, stream::Streams& streams)
      : knowledgebase_(knowledgebase), streams_(streams) {}

  static std::string id_of(const stream::Stream& stream) {
    return fmt::format("{}/{}{}", stream.knowledgebase().id().str(), kPrefix, stream.id().str());
  }

  Result<std::optional<ontology::SourceTable>> resolve(const ontology::TableId& id) override {
    if (id.kb() != knowledgebase_.id().str() || !id.document().starts_with(kPrefix) || id.table()) {
      return std::nullopt;
    }
    STRATA_ASSIGN_OR_RETURN(const StreamId name,
                            StreamId::parse(id.document().substr(kPrefix.size())));
    STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, streams_.find(knowledgebase_, name));
    STRATA_ASSIGN_OR_RETURN(auto columns, stream->columns().newest());
    return ontology::SourceTable{id, stream::rows_of(*stream), std::move(columns),
                                 stream->receiver().created_at};
  }

 private:
  static constexpr std::string_view kPrefix = "stream:";
  kb::Knowledgebase& knowledgebase_;
  stream::Streams& streams_;
};

json::value model_of(const AppliedStream& stream) {
  boost::system::error_code error;
  json::value model = json::parse(stream.model_json, error);
  return error ? json::value(json::object{}) : std::move(model);
}

/// The members `list` of every stream's model, each with the stream it is from.
json::array all_of(const Applied& applied, std::string_view list) {
  json::array all;
  for (const AppliedStream& stream : applied) {
    const json::value model = model_of(stream);
    const json::value* const items = model.as_object().if_contains(list);
    if (items == nullptr) continue;
    for (const json::value& item : items->as_array()) {
      json::object with_stream = item.as_object();
      with_stream["stream"] = stream.stream;
      all.push_back(std::move(with_stream));
    }
  }
  return all;
}

/// What a type's view is called: the name in its model may be another stream's already.
std::string view_of(const Applied& applied, const json::object& type) {
  const std::string_view type_view = type.at("view").as_string();
  for (const AppliedStream& stream : applied) {
    if (stream.stream != std::string_view(type.at("stream").as_string())) continue;
    for (const ontology::AppliedTable& table : stream.tables) {
      if (table.type_view == type_view) return table.view;
    }
  }
  return std::string(type_view);
}

json::object render_stream(const AppliedStream& stream) {
  json::array views;
  for (const ontology::AppliedTable& table : stream.tables) views.emplace_back(table.view);
  return {{"stream", stream.stream},
          {"rows", stream.rows},
          {"snapshot", stream.snapshot},
          {"taken_at", stream.taken_at},
          {"views", std::move(views)}};
}

/// Each type by stream and name, as it is spelled in the model.
std::map<std::string, std::string> types_of(const Applied& applied) {
  std::map<std::string, std::string> types;
  for (const json::value& type : all_of(applied, "types")) {
    const json::object& object = type.as_object();
    types.emplace(fmt::format("{}: {}", std::string_view(object.at("stream").as_string()),
                              std::string_view(object.at("name").as_string())),
                  json::serialize(object));
  }
  return types;
}

/// What `now` has that `before` has not, or otherwise.
void add_differences(json::object& version, const std::map<std::string, std::string>& before,
                     const std::map<std::string, std::string>& now) {
  json::array added;
  json::array removed;
  json::array changed;
  for (const auto& [name, spelled] : now) {
    const auto found = before.find(name);
    if (found == before.end()) {
      added.emplace_back(name);
    } else if (found->second != spelled) {
      changed.emplace_back(name);
    }
  }
  for (const auto& [name, spelled] : before) {
    if (!now.contains(name)) removed.emplace_back(name);
  }
  version["added"] = std::move(added);
  version["removed"] = std::move(removed);
  version["changed"] = std::move(changed);
}

/// How long each step of one job takes, for /metrics.
class StepTimes {
 public:
  explicit StepTimes(Services& services) : services_(services) {}
  ~StepTimes() { end(); }
  StepTimes(const StepTimes&) = delete;
  StepTimes& operator=(const StepTimes&) = delete;

  void begin(std::string_view step) {
    end();
    step_ = step;
    begun_ = services_.clock.steady();
  }

 private:
  void end() {
    if (step_.empty()) return;
    services_.metrics.observe_ontology_step(step_, services_.clock.steady() - begun_);
  }

  Services& services_;
  std::string step_;
  SteadyTime begun_;
};

void count_outcome(const Result<ontology::Outcome>& outcome, const std::string& kb,
                   Metrics& metrics) {
  if (!outcome) {
    metrics.count_ontology_job(outcome.error().code == Code::kCancelled ? "cancelled" : "failed");
    return;
  }
  metrics.count_ontology_job(outcome->unchanged ? "unchanged" : "done");
  metrics.set_ontology_version(kb, outcome->version);
}

/// What the job of a stream does.
Result<ontology::Outcome> apply_to(stream::Stream& stream, jobs::JobProgress& progress,
                                   Services& services) {
  StreamTables streams(stream.knowledgebase(), services.streams);
  STRATA_ASSIGN_OR_RETURN(const ontology::SourceTable table,
                          ontology::resolve({&streams}, StreamTables::id_of(stream)));
  StepTimes times(services);
  const ontology::ApplyProgress told{
      .step =
          [&](std::string_view step) {
            progress.step(std::string(step));
            times.begin(step);
          },
      .progress = [&progress](double whole) { progress.progress(whole); },
      .kill_point = [](const char* point) { io::kill_point(point); },
      .cancel = progress.cancel_token()};
  return ontology::apply({.knowledgebase = stream.knowledgebase(),
                          .workers = services.own_workers,
                          .clock = services.clock,
                          .table = table,
                          .stream = stream.id().str(),
                          .job = progress.job(),
                          .progress = told});
}

Error only_on_postgres(const std::string& kb) {
  return make_error(Code::kBackendUnsupported,
                    fmt::format("Applying ontology needs a knowledgebase with the backend "
                                "postgres, and '{0}' is kept in files. Move it: strata kb migrate "
                                "{0} --backend postgres",
                                kb));
}

}  // namespace

Result<http::Response> post_ontology(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(stream::Stream* const stream, stream_of(request, services));
  kb::Knowledgebase& knowledgebase = stream->knowledgebase();
  if (knowledgebase.backend() != "postgres") return only_on_postgres(knowledgebase.id().str());
  if (stream->numbers().totals().rows == 0) {
    return make_error(Code::kEmptyStream,
                      fmt::format("Nothing has landed in '{}' yet: send rows, then apply it again.",
                                  stream->id().str()));
  }
  return start_job(
      request, services, knowledgebase,
      {.kind = "ontology", .stream = stream->id().str(), .in_the_way = Code::kOntologyRunning},
      [&services, stream](jobs::JobProgress& progress) -> Result<std::string> {
        auto outcome = apply_to(*stream, progress, services);
        count_outcome(outcome, stream->knowledgebase().id().str(), services.metrics);
        if (!outcome) return std::move(outcome).error();
        return ontology::to_json(*outcome);
      });
}

Result<http::Response> get_ontology(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  ignore(ontology::settle(*knowledgebase, {}), "then the row answers as it is");
  STRATA_ASSIGN_OR_RETURN(const auto active, knowledgebase->catalog().ontology().active());
  Applied applied;
  if (active) {
    services.metrics.set_ontology_version(knowledgebase->id().str(), active->version);
    STRATA_ASSIGN_OR_RETURN(applied, ontology::parse_applied(active->content));
  }
  json::array streams;
  for (const AppliedStream& stream : applied) streams.push_back(render_stream(stream));
  json::array types = all_of(applied, "types");
  for (json::value& type : types) {
    json::object& object = type.as_object();
    object["view"] = view_of(applied, object);
    const json::value* const key = object.if_contains("key");
    // The key is a property like the others, and named here.
    if (key == nullptr) {
      object["key"] = nullptr;
      continue;
    }
    json::object property = key->as_object();
    object["key"] = property.at("name");
    json::array& properties = object["properties"].as_array();
    properties.insert(properties.begin(), std::move(property));
  }
  return json_response(
      200, json::object{{"version", active ? json::value(active->version) : json::value()},
                        {"created_at",
                         active ? json::value(format_iso8601(active->created)) : json::value()},
                        {"object_types", std::move(types)},
                        {"links", all_of(applied, "links")},
                        {"streams", std::move(streams)}});
}

Result<http::Response> list_ontology_versions(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  STRATA_ASSIGN_OR_RETURN(auto rows, knowledgebase->catalog().ontology().list());
  std::ranges::reverse(rows);
  json::array versions;
  std::map<std::string, std::string> before;
  for (const catalog::VersionRow& row : rows) {
    json::object version{{"version", row.version},
                         {"state", row.state},
                         {"created_at", format_iso8601(row.created)},
                         {"job", row.job}};
    STRATA_ASSIGN_OR_RETURN(const Applied applied, ontology::parse_applied(row.content));
    auto now = types_of(applied);
    add_differences(version, before, now);
    before = std::move(now);
    versions.insert(versions.begin(), std::move(version));
  }
  return json_response(200, json::object{{"versions", std::move(versions)}});
}

}  // namespace strata::api
