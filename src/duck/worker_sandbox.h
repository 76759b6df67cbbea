#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

/// What the kernel lets a worker touch, whatever the SQL or the engine found a way to. The gate and
/// DuckDB's own settings stand in front of it; this is what holds when they do not.
namespace strata::duck {

/// What this kernel has to hold a worker with.
struct SandboxSupport {
  int landlock_abi = 0;  // 0: none
  bool seccomp = false;

  bool whole() const { return landlock_abi > 0 && seccomp; }
};

/// Why no reader's SQL is run with `support`, which is not whole, and what to do.
std::string unsafe_queries_reason(const SandboxSupport& support);

/// Asks the kernel. A few microseconds; any thread.
SandboxSupport probe_sandbox();

/// Whether this build can live in the sandbox: the runtimes of the sanitizers read /proc, start a
/// symbolizer and trace their own process when it ends, all of which the sandbox is there to
/// refuse. In such a build enter_sandbox does nothing.
bool can_be_sandboxed();

/// Absolute paths. Whatever is not named can be neither opened nor listed nor made, renamed or
/// removed; what is open stays usable.
struct SandboxRules {
  std::vector<std::string> readable_folders;  // one that does not exist gives no right to anything
  std::string listed_path;      // folders to be listed, by name only, where a glob of it would be
  std::string writable_folder;  // empty: nothing is written. Files in it only, no folders
};

/// For the rest of this process's life: files by `rules` (Landlock); no sockets but those that are
/// open, no other program or process, no signal to another process, no change of a file's mode,
/// owner, times or attributes, none of the kernel's rarer doors (seccomp). Threads go on to be
/// made, and inherit all of it; so the caller's has to be the only one as yet. With a kernel that
/// lacks one of the two the other is applied. kInternal: the kernel has it and refused.
Result<void> enter_sandbox(const SandboxRules& rules);

}  // namespace strata::duck
