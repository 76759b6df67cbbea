#include <fmt/format.h>

#include "api/caller.h"
#include "api/handlers.h"
#include "api/jobs.h"
#include "api/json.h"

namespace strata::api {
namespace {

namespace json = boost::json;

json::object render(const kb::Knowledgebase& knowledgebase) {
  return {{"id", knowledgebase.id().str()},
          {"uuid", knowledgebase.uuid()},
          {"backend", knowledgebase.backend()},
          {"created_at", knowledgebase.created_at()}};
}

}  // namespace

Result<kb::Knowledgebase*> knowledgebase_of(const http::Request& request, Services& services) {
  const auto id = KbId::parse(request.params.at("kb"));
  if (!id) return make_error(Code::kUnknownKnowledgebase, id.error().message);
  return services.knowledgebases.find(*id);
}

Result<http::Response> post_knowledgebase(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(const json::object body, read_json_body(request, {"id", "backend"}));
  const json::value* id_text = body.if_contains("id");
  if (id_text == nullptr || !id_text->is_string()) {
    return make_error(Code::kBadRequest, R"(Name the knowledgebase: {"id":"demo"}.)");
  }
  std::string backend = "file";
  if (const json::value* asked = body.if_contains("backend")) {
    if (!asked->is_string()) return make_error(Code::kBadRequest, "backend is file or postgres.");
    backend = std::string_view(asked->as_string());
  }
  STRATA_ASSIGN_OR_RETURN(const KbId id, KbId::parse(std::string_view(id_text->as_string())));
  STRATA_ASSIGN_OR_RETURN(const kb::Knowledgebase* const made,
                          services.knowledgebases.create(id, backend));
  return json_response(201, render(*made));
}

Result<http::Response> list_knowledgebases(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(const Caller caller, caller_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const auto knowledgebases, services.knowledgebases.list());
  json::array list;
  for (const kb::Knowledgebase* knowledgebase : knowledgebases) {
    if (caller.sees(knowledgebase->id().str())) list.push_back(render(*knowledgebase));
  }
  return json_response(200, json::object{{"knowledgebase", std::move(list)}});
}

Result<http::Response> get_knowledgebase(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(const kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  return json_response(200, render(*knowledgebase));
}

Result<http::Response> post_migrate(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const json::object body, read_json_body(request, {"backend"}));
  const json::value* backend = body.if_contains("backend");
  if (backend == nullptr || !backend->is_string()) {
    return make_error(Code::kBadRequest, R"(Name where to move it: {"backend":"postgres"}.)");
  }
  const std::string to(std::string_view(backend->as_string()));
  STRATA_RETURN_IF_ERROR(knowledgebase->check_can_migrate(to));
  return start_job(
      request, services, *knowledgebase, {.kind = "migrate"},
      [&services, knowledgebase, to](jobs::JobProgress& progress) -> Result<std::string> {
        const kb::MigrationProgress told{
            .step = [&progress](std::string_view step) { progress.step(std::string(step)); },
            .cancelled = [&progress] { return progress.cancelled(); }};
        STRATA_RETURN_IF_ERROR(services.streams.migrate(*knowledgebase, to, told));
        return json::serialize(render(*knowledgebase));
      });
}

Result<http::Response> delete_knowledgebase(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  const std::string id = knowledgebase->id().str();
  const auto confirm = request.query.find("confirm");
  if (confirm == request.query.end() || confirm->second != id) {
    return make_error(
        Code::kBadRequest,
        fmt::format("deleting the knowledgebase '{0}' takes every stream of it out of "
                    "use: to confirm it, add ?confirm={0} to the address.",
                    id));
  }
  STRATA_ASSIGN_OR_RETURN(const std::string moved_to, services.streams.remove(*knowledgebase));
  return json_response(200, json::object{{"id", id}, {"moved_to", moved_to}});
}

}  // namespace strata::api
