#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "api/handlers.h"
#include "api/json.h"
#include "api/tables.h"
#include "base/error.h"
#include "parquet/batch_writer.h"

namespace strata::api {
namespace {

namespace json = boost::json;

json::object column(std::string_view name, std::string_view type) {
  return {{"name", name}, {"type", type}};
}

/// As the stream's view shows them. Before the first batch: those it was registered with.
json::array columns_of(stream::Stream& stream) {
  ignore(stream.columns().reload(), "what this process knows is an answer too");
  std::vector<std::string> names = stream.columns().list();
  if (names.empty()) names = stream.receiver().columns.value_or(names);
  json::array columns;
  for (const std::string& name : names) columns.push_back(column(name, "VARCHAR"));
  columns.push_back(column("filename", "VARCHAR"));
  columns.push_back(column(parquet::kBatchIdColumn, "VARCHAR"));
  return columns;
}

json::object manifest_view() {
  return {{"name", duck::kManifestTable},
          {"state", "ready"},
          {"columns", json::array{column("table", "VARCHAR"), column("source", "VARCHAR"),
                                  column("rows", "BIGINT"), column("state", "VARCHAR")}}};
}

}  // namespace

Result<http::Response> get_schema(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const auto tables, tables_of(*knowledgebase, services));
  std::map<std::string, json::array> views;
  for (const char* schema : {"main", "ontology", "raw_extracted"}) views[schema];
  views["main"].push_back(manifest_view());
  for (const auto& [row, stream] : tables) {
    const auto dot = row.table.find('.');
    const std::string schema = dot == std::string::npos ? "main" : row.table.substr(0, dot);
    json::object view{{"name", row.table.substr(dot + 1)}, {"state", row.state}};
    view["columns"] = stream == nullptr ? json::array() : columns_of(*stream);
    views[schema].push_back(std::move(view));
  }
  json::array schemas;
  for (auto& [name, list] : views) {
    schemas.push_back(json::object{{"name", name}, {"views", std::move(list)}});
  }
  return json_response(200, json::object{{"schemas", std::move(schemas)}});
}

}  // namespace strata::api
