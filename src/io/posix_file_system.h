#pragma once

#include <functional>
#include <memory>

#include "io/file_system.h"

namespace strata::io {

struct PosixOptions {
  /// False: as on a file system without renameat2's flags (NFS), so that what stands in for them
  /// can be tried on any machine.
  bool rename_flags = true;
  /// Called, on its thread, when a sync of a directory failed, before the error is returned: what
  /// the folder's names are on disk is then in doubt, and a second sync would say nothing about it.
  std::function<void()> on_failed_directory_sync = [] {};
};

/// The real disk. Descriptors are opened O_CLOEXEC. A name in a directory is never followed through
/// a symlink, and what is no regular file is neither read nor written (a planted FIFO would block).
/// A path, which an operator may have given, is followed. New files are 0640 and new folders 0750,
/// less the process's umask. Handles may outlive the file system object.
///
/// sync_file opens the file anew, so it hears of a failed writeback only as long as the kernel
/// holds the inode: sync right after the write, and never take a second sync for a proof.
std::unique_ptr<FileSystem> make_posix_file_system(const PosixOptions& options = {});

}  // namespace strata::io
