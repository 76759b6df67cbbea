#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/ids.h"
#include "io/file_system.h"

/// A copy of one kb's folder, taken while processes land batches into it (docs/BACKUP.md).
namespace strata::stream {

struct BackupRequest {
  std::string root;  // the root folder; no server has to run, and one may
  KbId kb;
  std::string target;  // absolute path; must not exist yet
};

struct BackupReport {
  std::uint64_t streams = 0;
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;
  /// Files that could not be hard links, because the target is on another file system or the files
  /// are another user's.
  std::uint64_t copied = 0;
};

/// Every batch acknowledged before the call is in the backup; one that lands meanwhile is in it
/// whole, with its claim, or not at all. A stream's order: receiver, data, registry, anchor,
/// ledger, numbers, and the claims last, each made from the data file it belongs to: so no file is
/// without its claim, and a batch that was only claimed can be sent to the restored copy again. The
/// target appears under its name when all of it is durable. Nothing of the source changes. Errors:
/// kUnknownKnowledgebase; kConflict: a newer root, a target inside
/// the root, or something stands at it; kNotFound: no
/// root, or no folder for the target; kBusy: the kb changed under the copy, run it again;
/// kDiskFull, kIo.
Result<BackupReport> back_up(io::FileSystem& fs, const BackupRequest& request);

}  // namespace strata::stream
