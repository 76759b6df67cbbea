#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "duck/sql.h"
#include "duck/workbench.h"
#include "kb/table_files.h"
#include "ontology/table_source.h"

/// The rows of a table as they were at one moment, so that everything that is counted is counted
/// over the same rows. No lock is taken: batches go on landing meanwhile.
namespace strata::ontology {

/// A table of more rows is not frozen. What can be counted in about a minute is ten million; a
/// tenth more, so that a table of ten million is not refused for what lands while somebody reads
/// this.
inline constexpr std::uint64_t kSnapshotRowsMax = 11'000'000;

/// What a snapshot is called while its job works on it.
inline constexpr std::string_view kSnapshotName = "snapshot.parquet";

/// A snapshot, wherever its file lies.
struct FrozenTable {
  TableId id;
  std::string file;                  // absolute path
  std::vector<std::string> columns;  // without filename and _batch_id
  std::uint64_t rows = 0;

  duck::Sql relation() const;
};

/// Copies the table into `<folder>/snapshot.parquet`, `folder` being the one that the workbench may
/// write in: its columns in their order, then filename and _batch_id; rows in no order.
/// kBadRequest: it has too many rows. Else the workbench's errors.
Result<FrozenTable> freeze(duck::Workbench& bench, const SourceTable& table,
                           const std::string& folder);

/// Makes `table`, frozen into `folder`, the next of its snapshots: durable when it returns, and
/// read from there from then on. Answers its number.
Result<std::uint64_t> publish_snapshot(kb::TableFiles& files, const kb::JobFolder& folder,
                                       FrozenTable& table);

}  // namespace strata::ontology
