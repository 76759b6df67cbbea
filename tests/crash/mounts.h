#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"

/// Mounts that nobody else sees and that end with this process, whatever ends it: they live in a
/// mount namespace of its own, and loop devices are detached with their last mount. Needs root. All
/// of it ends the process with a sentence when something fails: there is nothing to test then.
namespace strata::crash {

/// Ends this process with `sentence` and what errno says.
[[noreturn]] void die(const std::string& sentence);

/// From here on mounts are this process's own, and it ends with its parent.
void enter_private_mounts();

/// A file as a block device, mounted until destroyed.
class LoopMount {
 public:
  LoopMount(const std::string& file, const std::string& type, const std::string& mountpoint);
  LoopMount(const LoopMount&) = delete;
  LoopMount& operator=(const LoopMount&) = delete;
  ~LoopMount();
  /// Whether the file system could be mounted; after a cut it always should.
  bool mounted() const { return mounted_; }

 private:
  UniqueFd device_;
  const std::string mountpoint_;
  bool mounted_ = false;
};

/// Starts a program that ends with this process.
pid_t start(const std::vector<std::string>& command);
/// Its exit code; 128 and more for a signal.
int wait_for(pid_t pid);

}  // namespace strata::crash
