#pragma once

#include <chrono>
#include <cstdint>

/// What a worker process lets the kernel hold it to. Called in the worker only.
namespace strata::duck {

/// The exit code of a worker that died of its memory. Any other death it did not choose is a
/// signal's.
inline constexpr int kExitOutOfMemory = 86;

/// Whether this build can live under an address space limit: sanitizers reserve terabytes.
bool limits_address_space();

/// What a worker is for, and so what it may write.
enum class WorkerUse : std::uint8_t {
  kQueries,    // readers' SQL: no file but while WritingAllowed lives
  kDdl,        // the file of views, once
  kWorkbench,  // a job's files
};

struct ProcessLimits {
  std::uint64_t address_space_bytes = 0;
  WorkerUse use = WorkerUse::kQueries;
  std::uint64_t answer_bytes = 0;  // of kQueries: the most that WritingAllowed allows
};

/// Before DuckDB is opened. Bounds address space, core files, descriptors and writing to files at
/// all; dies with the thread that started it; is the kernel's first choice when memory runs out;
/// stands back for the processor and the disk, but for DDL, because a first landing waits for it.
/// Turns a death near the address space limit (a crash on an allocation that failed) into
/// kExitOutOfMemory.
void apply_process_limits(const ProcessLimits& limits);

/// While one lives, this process writes up to ProcessLimits::answer_bytes into a file that is open
/// to it; a query worker otherwise writes none. Not nested.
class WritingAllowed {
 public:
  WritingAllowed();
  WritingAllowed(const WritingAllowed&) = delete;
  WritingAllowed& operator=(const WritingAllowed&) = delete;
  ~WritingAllowed();
};

/// Lets the process burn so much more CPU time before the kernel ends it: what holds when neither
/// an interrupt nor the server's kill did. Counted anew for every statement, since a warm worker
/// lives long.
void allow_cpu_time(std::chrono::seconds more);

/// Address space in use is more than half of the limit. The allocator keeps what it once had, so
/// that such a worker would fail statements that fit into a fresh one.
bool address_space_is_half_used();

}  // namespace strata::duck
