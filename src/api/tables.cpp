#include "api/tables.h"

#include <array>
#include <map>
#include <utility>

#include "api/handlers.h"
#include "api/json.h"

namespace strata::api {
namespace {

namespace json = boost::json;

constexpr std::string_view kStreamSource = "stream:";
/// Sources that are no documents (architecture.md; the brief's phantom documents).
constexpr std::array<std::string_view, 3> kNoDocuments{"feed:", "stream:", "upload:"};

bool is_document(std::string_view source) {
  for (const std::string_view prefix : kNoDocuments) {
    if (source.starts_with(prefix)) return false;
  }
  return true;
}

void refresh(catalog::ManifestRow& row, stream::Stream& stream) {
  const stream::Totals totals = stream.numbers().totals();
  row.rows = totals.files > 0 ? std::optional(totals.rows) : std::nullopt;
  row.state = stream::view_state_name(stream.view_state());
}

/// The stream a manifest row speaks of, if there is one.
stream::Stream* stream_of_row(const catalog::ManifestRow& row, kb::Knowledgebase& knowledgebase,
                              Services& services) {
  if (!row.source.starts_with(kStreamSource)) return nullptr;
  const auto id = StreamId::parse(std::string_view(row.source).substr(kStreamSource.size()));
  if (!id) return nullptr;
  const auto stream = services.streams.find(knowledgebase, *id);
  return stream ? *stream : nullptr;
}

}  // namespace

Result<std::vector<Table>> tables_of(kb::Knowledgebase& knowledgebase, Services& services) {
  STRATA_ASSIGN_OR_RETURN(auto rows, knowledgebase.catalog().manifest());
  std::vector<Table> tables;
  for (catalog::ManifestRow& row : rows) {
    stream::Stream* const stream = stream_of_row(row, knowledgebase, services);
    if (stream != nullptr) refresh(row, *stream);
    tables.push_back({std::move(row), stream});
  }
  return tables;
}

Result<http::Response> list_tables(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const auto found, tables_of(*knowledgebase, services));
  json::array tables;
  for (const auto& [row, stream] : found) {
    json::object table{{"table", row.table}, {"source", row.source}};
    if (row.rows) table["rows"] = *row.rows;
    table["state"] = row.state;
    tables.push_back(std::move(table));
  }
  return json_response(200, json::object{{"tables", std::move(tables)}});
}

Result<http::Response> list_documents(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const auto rows, knowledgebase->catalog().manifest());
  struct Document {
    std::uint64_t tables = 0;
    bool error = false;
    bool deferred = false;
  };
  std::map<std::string, Document> documents;
  for (const catalog::ManifestRow& row : rows) {
    if (!is_document(row.source)) continue;
    Document& document = documents[row.source];
    ++document.tables;
    document.error |= row.state == "error";
    document.deferred |= row.state == "deferred";
  }
  json::array list;
  for (const auto& [id, document] : documents) {
    list.push_back(json::object{{"document", id},
                                {"status", document.error      ? "error"
                                           : document.deferred ? "deferred"
                                                               : "ready"},
                                {"tables", document.tables}});
  }
  return json_response(200, json::object{{"documents", std::move(list)}});
}

}  // namespace strata::api
