#pragma once

#include "io/file_system.h"

namespace strata::io {

/// What the file system under a root can do, tried on the root itself.
struct ProbeReport {
  bool no_replace = false;      // renameat2(RENAME_NOREPLACE); else link + unlink stands in
  bool exchange = false;        // needed by compaction only
  bool hard_links = false;      // without them ids cannot be claimed: the root is refused
  bool directory_sync = false;  // without it a 200 could be lost: the root is refused
};

/// Works in a folder `_probe.<random>` of its own and leaves nothing behind, unless the process
/// dies meanwhile. An error means that the probe itself could not run (read-only, full), or that
/// the file system replaces names it was told not to: no root can live there.
Result<ProbeReport> probe(FileSystem& fs, const Directory& root);

}  // namespace strata::io
