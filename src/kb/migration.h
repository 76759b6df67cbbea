#pragma once

#include <functional>

#include "base/error.h"
#include "catalog/catalog.h"
#include "io/file_system.h"
#include "kb/backend_history.h"
#include "kb/migration_progress.h"

/// Moving a kb's catalog from its file to PostgreSQL, while batches land on every node.
namespace strata::kb {

/// So often the copy is made again because somebody put a row meanwhile.
inline constexpr int kMigrationCopies = 16;

/// Everything a migration works on; borrowed. One runs at a time for a kb: whoever calls holds the
/// lock that sees to it (Knowledgebase::migrate). Should that lapse, two may run: one is answered
/// kBusy, and what it copied last may hide rows until it, or the next call, has rebuilt the index.
struct Migration {
  io::FileSystem& fs;
  const io::Directory& kb_folder;
  BackendHistory& history;
  catalog::Catalog& file;
  catalog::Catalog& postgres;
  /// Whether PostgreSQL would answer now.
  std::function<Result<void>()> reach_postgres;
  /// Puts the row of every stream there is, and takes away those of streams that are no more.
  std::function<Result<void>()> rebuild_index;
  /// Puts the kb's row into the root's catalog.
  std::function<Result<void>()> put_root_row;
  const MigrationProgress& progress;
};

/// The steps, each of which a process may be ended after; the next call, on whatever node, goes on:
/// 1. `backend/` says `migrating`: receivers and the kb are not changed until it says otherwise.
/// 2. All rows are copied in one transaction, read back and compared with the file's, again while
///    somebody puts rows.
/// 3. `backend/` says `postgres`: from here on every node looks there.
/// 4. The index is rebuilt from the folders: a row that was put into the file after the comparison
///    is one of a stream whose folder was there by then.
/// 5. The root's catalog is told; `catalog.sqlite` becomes `catalog.sqlite.migrated`.
/// A catalog that is in PostgreSQL already gets steps 4 and 5.
///
/// Errors before step 3 leave the kb whole on its file, with receivers free to change, or say that
/// they could not: those of the two catalogs and of the files; kCancelled; kBusy: rows kept being
/// put. With PostgreSQL out of reach step 1 is not taken. Errors after it say that it has moved.
Result<void> migrate(const Migration& migration);

}  // namespace strata::kb
