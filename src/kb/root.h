#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "catalog/catalog.h"
#include "io/file_system.h"
#include "io/probe.h"
#include "kb/root_identity.h"
#include "kb/shared_services.h"

namespace strata::kb {

struct RootOptions {
  std::string path;  // made when missing
  std::string node = "local";
  SharedServices shared;
};

/// The folder everything lives in: `strata.json`, the probe, DEGRADED, the root's catalog and this
/// process's name. Thread-safe.
class Root {
 public:
  virtual ~Root() = default;

  /// Makes or opens the root. Refuses, with the reason and the way out: a newer format, a kind that
  /// the node has no means for (check_means), a path with a backslash, a `?` or a newline (DuckDB
  /// cannot name it), a file system without hard links or directory fsync. A DEGRADED left by an
  /// earlier process is cleared when the probe passes; where the probe cannot run, a root that has
  /// data opens degraded, so that it can be read.
  static Result<std::unique_ptr<Root>> open(io::FileSystem& fs, const Clock& clock,
                                            const RootOptions& options);

  /// Canonical and absolute.
  virtual const std::string& path() const = 0;
  virtual const std::string& uuid() const = 0;
  virtual LockKind lock_kind() const = 0;
  virtual CatalogKind catalog_kind() const = 0;
  virtual const SharedServices& shared() const = 0;
  /// As the node was started: RootOptions::node.
  virtual const std::string& node() const = 0;
  /// `<node>-<boot>-<pid>`, boot being random at each start: names what this process stages.
  virtual const std::string& process() const = 0;
  /// The same with a boot of its own, for one opening of a stream. A stream that was moved and
  /// comes back is opened again while its staging folder, its attempts and its checkpoint of the
  /// opening before are there: they are an ended process's then.
  virtual std::string process_for_opening() const = 0;
  virtual const io::Directory& directory() const = 0;
  virtual const io::ProbeReport& probe() const = 0;
  virtual catalog::RootCatalog& catalog() = 0;

  /// Why the disk is in doubt, or nothing. What the file says is looked at at most once a second.
  virtual std::optional<std::string> degraded() = 0;
  /// Why a batch whose body has so many bytes is not taken now, or nothing. kDegraded; kDiskFull:
  /// the reserve would be touched. The disk is looked at each time, so that batches are taken again
  /// as soon as it has room.
  virtual std::optional<Error> ingest_stop(std::uint64_t body_bytes) = 0;
  /// Stops ingest on this root, in every process: sticky until a restart whose probe passes. The
  /// file is best effort (the disk may be what failed), the flag in this process is not.
  virtual void degrade(const std::string& reason) = 0;
};

}  // namespace strata::kb
