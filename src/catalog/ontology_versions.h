#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace strata::catalog {

/// One version of a kb's ontology.
struct VersionRow {
  std::uint64_t version = 0;
  std::string state;  // `pending` | `active` | `retired`
  std::string model_sha256;
  std::string content;  // JSON, up to a few MiB
  std::string job;      // the id of the job that made it
  WallTime created;     // the database's clock, in microseconds
  bool operator==(const VersionRow&) const = default;
};

/// The versions of one kb's ontology. At most one is pending and at most one active, which the
/// database itself holds to, so that it is true of all processes together. A call changes all it
/// says or nothing. Thread-safe. Errors: those of Catalog, and kConflict where it is said. After a
/// kIo it may have happened.
class OntologyVersions {
 public:
  virtual ~OntologyVersions() = default;
  /// Puts it as pending and created now, whatever the row says of these two. False: its number is
  /// taken, and nothing changed; after a kIo perhaps by the call that ended so, which the `job` of
  /// pending() tells. kConflict: the number is free, but another version is pending.
  virtual Result<bool> put_pending(const VersionRow& row) = 0;
  /// The active one becomes retired and this one active. Nothing where it is active already.
  /// kConflict: it is not pending.
  virtual Result<void> activate(std::uint64_t version) = 0;
  /// The content of the active one becomes this: newer data, the same model. kConflict: that
  /// version is not active.
  virtual Result<void> refresh(std::uint64_t version, const std::string& content) = 0;
  /// It goes; nothing where it is not pending.
  virtual Result<void> drop_pending(std::uint64_t version) = 0;
  virtual Result<std::vector<VersionRow>> list() = 0;  // newest first
  virtual Result<std::optional<VersionRow>> active() = 0;
  virtual Result<std::optional<VersionRow>> pending() = 0;
};

}  // namespace strata::catalog
