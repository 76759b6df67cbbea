#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "catalog/catalog.h"
#include "duck/worker_pool.h"
#include "io/file_system.h"
#include "kb/generations.h"
#include "kb/migration_progress.h"
#include "kb/root.h"
#include "kb/table_files.h"
#include "lock/kb_lock.h"

namespace strata::kb {

/// What callers of Knowledgebase::lock() say; the lock's other parts are not theirs.
using lock::LockRequest;
using lock::Purpose;

/// How long a migration waits for another of the same kb.
inline constexpr std::chrono::milliseconds kMigrationWait{10'000};

/// One customer's data: its folder, its catalog, its generations. Lives as long as the process,
/// after its folder was moved aside too.
/// Thread-safe.
class Knowledgebase {
 public:
  virtual ~Knowledgebase() = default;
  virtual const KbId& id() const = 0;
  virtual const std::string& uuid() const = 0;
  /// `file` or `postgres`: where its catalog is, as far as the disk can be read now.
  virtual std::string backend() const = 0;
  virtual const std::string& created_at() const = 0;
  /// Canonical absolute path of `<root>/kb/<id>`.
  virtual const std::string& folder() const = 0;
  /// Whether the folder's path leads to it still: any process may have moved it aside.
  virtual Result<bool> in_place() const = 0;
  /// `strata/streams/`, held open.
  virtual const io::Directory& streams() const = 0;
  /// Wherever it is by now. While it moves it is where it was.
  virtual catalog::Catalog& catalog() = 0;
  /// kMigrating, with the way out: its catalog is being moved, and no receiver changes meanwhile.
  virtual Result<void> check_not_migrating() = 0;
  /// Whether migrate() could begin now. kBadRequest: another backend than `postgres`, or a node
  /// without PostgreSQL; kIo: it is out of reach.
  virtual Result<void> check_can_migrate(std::string_view backend) = 0;
  /// Moves its catalog to `backend` while other processes use it (migration.h). `rebuild_index`
  /// brings the rows of streams in line with their folders. One call at a time in all processes;
  /// another waits kMigrationWait for it, then kBusy. Errors: those of check_can_migrate() and of
  /// kb::migrate().
  virtual Result<void> migrate(std::string_view backend,
                               const std::function<Result<void>()>& rebuild_index,
                               const MigrationProgress& progress) = 0;
  virtual lock::KbLock& lock() = 0;
  virtual Generations& generations() = 0;
  virtual TableFiles& table_files() = 0;
};

/// Everything a Knowledgebases borrows; all of it outlives it.
struct KbServices {
  io::FileSystem& fs;
  const Clock& clock;
  Root& root;
  duck::WorkerPool& workers;
  lock::AcquisitionCounter& acquisitions;
  /// Told when a kb this process knew was found moved aside: workers bound to its folder have to
  /// end before the next one of that name is read.
  std::function<void(const std::string& folder)> on_gone = {};
};

/// The kbs of a root. Thread-safe; another process may add to the same root.
class Knowledgebases {
 public:
  virtual ~Knowledgebases() = default;
  static std::unique_ptr<Knowledgebases> create(const KbServices& services);

  /// Durable when it returns; a kb half made by a crash is finished by the next call. kConflict:
  /// it exists. kBadRequest: an unknown backend, or `postgres` on a node without PostgreSQL. kIo:
  /// PostgreSQL is out of reach.
  virtual Result<Knowledgebase*> create(const KbId& id, const std::string& backend) = 0;
  /// Moves the kb's folder aside, whole; where it is now, below the root. Durable when it returns;
  /// the id is free at once. The caller has seen to it that nothing lands in it from this process.
  virtual Result<std::string> remove(Knowledgebase& knowledgebase) = 0;
  /// kUnknownKnowledgebase with the nearest existing name and how to make one. Looks on the disk
  /// whether the one this process knows is still there, and for one it has not met yet. The pointer
  /// is never null and stays valid.
  virtual Result<Knowledgebase*> find(const KbId& id) = 0;
  /// All of them, by id, as the disk has them now; without those that cannot be opened, because
  /// one that is damaged must not take the others away.
  virtual Result<std::vector<Knowledgebase*>> list() = 0;

  struct Unopened {
    std::string id;
    Error error;
  };
  /// Those the last list() had to leave out, and why.
  virtual std::vector<Unopened> unopened() const = 0;
};

}  // namespace strata::kb
