#pragma once

#include <sys/types.h>

#include <set>
#include <string_view>

/// This process's child processes, as the kernel lists them, and what it says of a process.
namespace strata::duck {

/// Zombies included.
std::set<pid_t> children();

/// Without those that have ended and wait to be reaped.
std::set<pid_t> living_children();

/// Whether bit `bit`, from 0 on, is set in what /proc/PID/status has as `mask`, as in "SigCgt".
bool has_status_bit(pid_t process, std::string_view mask, unsigned bit);

}  // namespace strata::duck
