#include "io/directory_syncs.h"

#include <condition_variable>

namespace strata::io {

/// One directory's. At most one sync runs at a time.
class DirectorySyncs::Queue {
 public:
  Result<void> sync(FileSystem& fs, const Directory& directory) {
    std::unique_lock lock(mutex_);
    // One that runs already may have passed by the caller's name.
    const std::uint64_t wanted = begun_ + 1;
    while (ended_ < wanted && !failure_) {
      if (begun_ != ended_) {
        ended_one_.wait(lock);
        continue;
      }
      ++begun_;
      lock.unlock();
      auto synced = fs.sync_directory(directory);
      lock.lock();
      if (!synced) failure_ = std::move(synced).error();
      ended_ = begun_;
      ended_one_.notify_all();
    }
    if (failure_) return *failure_;
    return {};
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_one_;
  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
  std::optional<Error> failure_;
};

DirectorySyncs::DirectorySyncs(FileSystem& fs) : fs_(fs) {}
DirectorySyncs::~DirectorySyncs() = default;

DirectorySyncs::Queue& DirectorySyncs::queue_of(const FileId& id) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Queue>& queue = queues_[{id.device, id.inode}];
  if (!queue) queue = std::make_unique<Queue>();
  return *queue;
}

Result<void> DirectorySyncs::sync(const Directory& directory, const FileId& id) {
  return queue_of(id).sync(fs_, directory);
}

}  // namespace strata::io
