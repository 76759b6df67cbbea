#pragma once

#include <sys/types.h>

#include <set>

/// This process's child processes, as the kernel lists them.
namespace strata::duck {

/// Zombies included.
std::set<pid_t> children();

/// Without those that have ended and wait to be reaped.
std::set<pid_t> living_children();

}  // namespace strata::duck
