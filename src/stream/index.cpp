#include <algorithm>

#include "stream/streams.h"

/// Streams: their rows in the kb's catalog, and its move to another backend.
namespace strata::stream {

Result<void> Streams::index(Stream& stream) {
  STRATA_ASSIGN_OR_RETURN(const auto rows, stream.knowledgebase().catalog().manifest());
  return index_beside(stream, rows);
}

/// `rows` are those of the manifest, just read.
Result<void> Streams::index_beside(Stream& stream, const std::vector<catalog::ManifestRow>& rows) {
  catalog::Catalog& catalog = stream.knowledgebase().catalog();
  STRATA_RETURN_IF_ERROR(catalog.put_receiver({stream.id().str(), to_json(stream.receiver())}));
  const std::string table = stream.table();
  const bool there = std::ranges::any_of(
      rows, [&](const catalog::ManifestRow& row) { return row.table == table; });
  if (there) return {};
  return catalog.put_manifest({table, "stream:" + stream.id().str(), std::nullopt, "deferred"});
}

Result<void> Streams::rebuild_index(kb::Knowledgebase& knowledgebase) {
  STRATA_ASSIGN_OR_RETURN(const auto ids, ids_on_disk(knowledgebase));
  STRATA_ASSIGN_OR_RETURN(const auto rows, knowledgebase.catalog().manifest());
  for (const StreamId& id : ids) {
    // One that cannot be opened keeps the rows it has, and is noted as a problem by every start.
    const auto stream = find(knowledgebase, id);
    if (stream) STRATA_RETURN_IF_ERROR(index_beside(**stream, rows));
  }
  // After the rows above, so that one of a stream that is deleted meanwhile does not stay.
  return drop_lost_rows(knowledgebase);
}

Result<void> Streams::migrate(kb::Knowledgebase& knowledgebase, std::string_view backend,
                              const kb::MigrationProgress& progress) {
  return knowledgebase.migrate(
      backend, [this, &knowledgebase] { return rebuild_index(knowledgebase); }, progress);
}

}  // namespace strata::stream
