#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/file_system.h"

namespace strata::kb {

/// A folder of a job's own below the kb's `staging/`: the one place where its worker may write.
/// What is left in it goes with it; no reader looks there.
class JobFolder {
 public:
  virtual ~JobFolder() = default;
  virtual const std::string& path() const = 0;  // absolute
  virtual const io::Directory& directory() const = 0;
};

/// One frozen copy of a table.
struct Snapshot {
  std::uint64_t number = 0;
  std::string file;  // absolute path
};

/// Which file of a job's folder becomes a snapshot of which table; `table` is the folder's name
/// below `strata/snapshots/`.
struct SnapshotPublish {
  const JobFolder& from;
  std::string_view name;
  std::string_view table;
};

/// Which file of a job's folder becomes a typed table of which version of the kb's model.
struct TypedTablePublish {
  const JobFolder& from;
  std::string_view name;
  std::uint64_t version = 0;
  std::string_view as;  // its name below `strata/ontology/<version>/`
};

/// A small file about a table; `table` is the folder's name below `strata/tables/`.
struct SidecarPublish {
  std::string_view table;
  std::string_view name;
  std::string_view bytes;
};

/// What jobs leave behind about a kb's tables. Takes no lock. Thread-safe.
class TableFiles {
 public:
  virtual ~TableFiles() = default;

  /// kDiskFull: there is no room for `bytes` more.
  virtual Result<std::unique_ptr<JobFolder>> make_job_folder(std::uint64_t bytes) = 0;
  /// Under the next number of its table: read-only, never replaced, its number never freed. Durable
  /// when it returns; after an error it may be there whole, under a number that nobody knows.
  virtual Result<Snapshot> publish_snapshot(const SnapshotPublish& publish) = 0;
  /// Read-only and never replaced; its path below the kb's folder. kExists: that name is taken.
  /// Durable when it returns.
  virtual Result<std::string> publish_typed_table(const TypedTablePublish& publish) = 0;
  /// Whether a file is there that publish_typed_table() answered: a folder that was restored may be
  /// older than what the catalog knows.
  virtual Result<bool> has_typed_table(const std::string& file) = 0;
  /// The highest number that a folder of typed tables has, whatever became of the job that made it;
  /// 0: there is none. So a version that no catalog knows of any more keeps its number.
  virtual Result<std::uint64_t> highest_version() = 0;
  /// In place of the one of that name, in a folder that is made where it is missing. Durable when
  /// it returns; after an error the old or the new one stands, whole.
  virtual Result<void> publish_sidecar(const SidecarPublish& publish) = 0;
};

/// What a kb's table files borrow; all of it outlives them.
struct TableFilesContext {
  io::FileSystem& fs;
  /// Its `staging` exists, and `snapshots`, `ontology` and `tables` below its `strata`.
  const io::Directory& kb_folder;
  std::string process;  // names the folders in staging/
};
std::unique_ptr<TableFiles> make_table_files(const TableFilesContext& context);

}  // namespace strata::kb
