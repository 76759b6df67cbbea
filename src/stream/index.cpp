#include "stream/index_job.h"
#include "stream/streams.h"

/// Streams: their rows in the kb's catalog, and its move to another backend.
namespace strata::stream {

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
