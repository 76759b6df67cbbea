#include "ontology/snapshot.h"

#include <fmt/format.h>

#include <utility>

#include "ontology/steps.h"

namespace strata::ontology {

duck::Sql FrozenTable::relation() const {
  return duck::Sql("read_parquet(").glob(file, "").raw(", hive_partitioning=false)");
}

Result<FrozenTable> freeze(duck::Workbench& bench, const SourceTable& table,
                           const std::string& folder) {
  // Before the copy, so that it costs a look at the files' footers.
  STRATA_ASSIGN_OR_RETURN(const std::uint64_t rows,
                          count(bench, duck::Sql("SELECT count(*) FROM ").append(table.relation)));
  if (rows > kSnapshotRowsMax) {
    return make_error(
        Code::kBadRequest,
        fmt::format("the table has {} rows, and ontology is applied to at most {} at a time: send "
                    "what belongs together to a stream of its own",
                    rows, kSnapshotRowsMax));
  }
  FrozenTable frozen{.id = table.id,
                     .file = fmt::format("{}/{}", folder, kSnapshotName),
                     .columns = table.columns};
  duck::Sql copy("COPY (SELECT ");
  for (const std::string& column : table.columns) copy.ident(column).raw(", ");
  copy.raw("filename, _batch_id FROM ").append(table.relation);
  copy.raw(") TO ").literal(frozen.file).raw(" (FORMAT PARQUET)");
  STRATA_RETURN_IF_ERROR(bench.run(copy, kStepLimit));
  // Of the copy: more may have landed since they were counted.
  STRATA_ASSIGN_OR_RETURN(
      frozen.rows, count(bench, duck::Sql("SELECT count(*) FROM ").append(frozen.relation())));
  return frozen;
}

Result<std::uint64_t> publish_snapshot(kb::TableFiles& files, const kb::JobFolder& folder,
                                       FrozenTable& table) {
  STRATA_ASSIGN_OR_RETURN(
      kb::Snapshot published,
      files.publish_snapshot({folder, kSnapshotName, table.id.snapshot_folder()}));
  table.file = std::move(published.file);
  return published.number;
}

}  // namespace strata::ontology
