#include <array>
#include <map>

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

/// What the stream itself says: the catalog's row is only an index.
void refresh(catalog::ManifestRow& row, stream::Stream& stream) {
  const stream::Totals totals = stream.numbers().totals();
  row.rows = totals.files > 0 ? std::optional(totals.rows) : std::nullopt;
  row.state = stream::view_state_name(stream.view_state());
}

}  // namespace

Result<http::Response> list_tables(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  STRATA_ASSIGN_OR_RETURN(auto rows, knowledgebase->catalog().manifest());
  json::array tables;
  for (catalog::ManifestRow& row : rows) {
    if (row.source.starts_with(kStreamSource)) {
      const auto id = StreamId::parse(std::string_view(row.source).substr(kStreamSource.size()));
      if (id) {
        if (const auto stream = services.streams.find(*knowledgebase, *id)) refresh(row, **stream);
      }
    }
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
