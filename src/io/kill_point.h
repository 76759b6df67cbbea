#pragma once

#include <string_view>

namespace strata::io {

/// The exit code of a process that a kill point ended.
inline constexpr int kKillPointExit = 85;

/// Ends the process at once, without a destructor or a flush, when the environment's
/// STRATA_CRASH_AT is `name`, or `name#3` the third time it is reached. Otherwise one comparison.
/// STRATA_STOP_AT, spelled alike, stops it there instead, as SIGSTOP does: for tests of what goes
/// away meanwhile. Crash tests run the real binary with it; docs/ARCHITECTURE.md lists the names.
void kill_point(std::string_view name);

}  // namespace strata::io
