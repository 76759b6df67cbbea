#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace strata {

/// For tests: starts `command`, whose first word is looked for in PATH, with nothing to read; what
/// it prints goes to the end of the file `log`.
pid_t start_program(std::vector<std::string> command, const std::string& log);

/// How it ended, as waitpid() says; nothing while it runs.
std::optional<int> ended(pid_t pid);
/// The same, waited for.
int wait_for_end(pid_t pid);

}  // namespace strata
