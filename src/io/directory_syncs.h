#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "io/file_system.h"

namespace strata::io {

/// Syncs of directories for threads that each made a name in one. Threads that wait at the same
/// time share one sync, which began after all their names were made. An error of a sync is told to
/// one caller only by the kernel; here it is the answer to everyone who asks for that directory
/// from then on, so that nobody takes the next sync's success for his own name's. Thread-safe.
class DirectorySyncs {
 public:
  explicit DirectorySyncs(FileSystem& fs);
  ~DirectorySyncs();
  DirectorySyncs(const DirectorySyncs&) = delete;
  DirectorySyncs& operator=(const DirectorySyncs&) = delete;

  /// As FileSystem::sync_directory. `id` is the directory's own.
  Result<void> sync(const Directory& directory, const FileId& id);

 private:
  class Queue;

  Queue& queue_of(const FileId& id);

  FileSystem& fs_;
  std::mutex mutex_;
  std::map<std::pair<dev_t, ino_t>, std::unique_ptr<Queue>> queues_;  // by mutex_; none goes away
};

}  // namespace strata::io
