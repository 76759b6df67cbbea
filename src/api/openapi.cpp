#include "api/openapi.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <string>

#include "api/handlers.h"
#include "api/json.h"
#include "api/openapi_shapes.h"
#include "api/operations.h"
#include "base/cells.h"

namespace strata::api {
namespace {

namespace json = boost::json;

std::string_view scope_text(Access access) {
  switch (access) {
    case Access::kOpen:
      return "Needs no token.";
    case Access::kAnyToken:
      return "Needs any valid token; shows only what it may see.";
    case Access::kIngest:
      return "Needs the scope ingest of the stream.";
    case Access::kIngestOrRead:
      return "Needs the scope ingest of the stream, or read of the knowledgebase.";
    case Access::kRead:
      return "Needs the scope read of the knowledgebase.";
    case Access::kModel:
      return "Needs the scope model of the knowledgebase.";
    case Access::kAdmin:
      return "Needs the scope admin.";
  }
  return "";
}

json::object parameter(std::string_view in, std::string_view name, const json::value& shape) {
  const bool optional = name.ends_with('?');
  if (optional) name.remove_suffix(1);
  return {{"in", in}, {"name", name}, {"required", !optional}, {"schema", to_json_schema(shape)}};
}

/// The `{name}` parts of a path.
void add_path_parameters(std::string_view pattern, json::array& parameters) {
  for (auto open = pattern.find('{'); open != std::string_view::npos;
       open = pattern.find('{', open + 1)) {
    const std::string_view name = pattern.substr(open + 1, pattern.find('}', open) - open - 1);
    parameters.push_back(parameter("path", name, "string"));
  }
}

void add_parameters(std::string_view in, const json::object& shape, const char* member,
                    json::array& parameters) {
  const json::value* named = shape.if_contains(member);
  if (named == nullptr) return;
  for (const auto& [name, of] : named->as_object()) parameters.push_back(parameter(in, name, of));
}

json::object content(const json::value& shape) {
  const json::object* object = shape.if_object();
  const json::value* media = object == nullptr ? nullptr : object->if_contains("$media");
  if (media == nullptr) return {{"application/json", {{"schema", to_json_schema(shape)}}}};
  json::object types;
  for (const auto& [type, of] : media->as_object()) types[type] = {{"schema", to_json_schema(of)}};
  return types;
}

json::object responses(const json::object& shape) {
  json::object answers;
  for (const auto& [status, of] : shape.at("answers").as_object()) {
    answers[status] = {{"description", status.front() == '2' ? "Done" : "Not done"},
                       {"content", content(of)}};
  }
  answers["default"] = {{"$ref", "#/components/responses/Problem"}};
  return answers;
}

json::object render(const Operation& operation) {
  static const json::object unknown{{"answers", {{"200", "any"}}}};
  const json::value* known = operation_shapes().if_contains(operation.id);
  const json::object& shape = known == nullptr ? unknown : known->as_object();
  json::array parameters;
  add_path_parameters(operation.pattern, parameters);
  add_parameters("query", shape, "query", parameters);
  add_parameters("header", shape, "headers", parameters);
  json::object rendered{{"operationId", operation.id},
                        {"summary", operation.summary},
                        {"description", scope_text(operation.access)}};
  rendered["security"] = operation.access == Access::kOpen
                             ? json::array()
                             : json::array{json::object{{"token", json::array()}}};
  if (!parameters.empty()) rendered["parameters"] = std::move(parameters);
  if (const json::value* body = shape.if_contains("body")) {
    rendered["requestBody"] = {{"required", true}, {"content", content(*body)}};
  }
  rendered["responses"] = responses(shape);
  return rendered;
}

json::object components() {
  json::object all;
  for (const auto& [name, shape] : schemas()) all[name] = to_json_schema(shape);
  return {{"schemas", std::move(all)},
          {"responses",
           {{"Problem",
             {{"description", "Refused or failed (RFC 9457); `code` says what can be done"},
              {"content",
               {{"application/problem+json",
                 {{"schema", {{"$ref", "#/components/schemas/Problem"}}}}}}}}}}},
          {"securitySchemes",
           {{"token",
             {{"type", "http"},
              {"scheme", "bearer"},
              {"description",
               "strata_<id>_<secret>. A server on a loopback address that was started without "
               "--auth required asks for none."}}}}}};
}

}  // namespace

json::object openapi_document(std::string_view version) {
  json::object paths;
  for (const Operation& operation : operations()) {
    json::value& path = paths[operation.pattern];
    if (path.is_null()) path.emplace_object();
    path.as_object()[ascii_lower(operation.method)] = render(operation);
  }
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Strata"},
            {"version", version},
            {"summary", "Records in over HTTP, one Parquet file a batch, rows out over SQL."}}},
          {"servers", json::array{json::object{{"url", "/"}}}},
          {"paths", std::move(paths)},
          {"components", components()}};
}

Result<http::Response> get_openapi(const http::Request&, Services& services) {
  return json_response(200, openapi_document(services.version));
}

}  // namespace strata::api
