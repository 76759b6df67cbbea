#pragma once

#include <sys/types.h>

namespace strata::bench {

/// Processor seconds used so far by the process and its children, ended ones that were waited for
/// included; 0 for a process that is not there.
double cpu_seconds(pid_t process);
/// The same of this process alone.
double own_cpu_seconds();

}  // namespace strata::bench
