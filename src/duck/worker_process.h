#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/unique_fd.h"
#include "duck/worker_reaper.h"

/// The server's side of a worker process: its life and its death.
namespace strata::duck {

/// How a worker ended, for the one question that is asked: whose doing was it?
enum class Ending : std::uint8_t {
  kChosen,       // it returned, or we killed it
  kOutOfMemory,  // it said so by its exit code
  kKilled,       // a signal from outside: an operator, the kernel out of memory
  kCpuTime,      // the kernel, over its CPU time
  kCrashed,      // anything else
};

/// Why workers died: the labels of strata_worker_deaths_total.
inline constexpr std::string_view kTimeoutReason = "timeout";
inline constexpr std::string_view kOutOfMemoryReason = "out_of_memory";
inline constexpr std::string_view kKilledReason = "killed";
inline constexpr std::string_view kCrashedReason = "crashed";
inline constexpr std::string_view kSpawnFailedReason = "spawn_failed";

/// One child process and our end of its socket. No orphan: whoever drops this has ended the
/// process, and the reaper has its remains. One thread at a time.
class WorkerProcess {
 public:
  WorkerProcess(pid_t pid, UniqueFd socket, WorkerReaper& reaper)
      : pid_(pid), socket_(std::move(socket)), reaper_(reaper) {}
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  int socket() const { return socket_.get(); }
  /// Waits so long for it to end by itself, then kills it. The first ending is the one that counts.
  Ending end(std::chrono::milliseconds patience);

 private:
  /// Whether it has ended; with `block`, when it has.
  bool has_ended(bool block);

  pid_t pid_;
  UniqueFd socket_;
  WorkerReaper& reaper_;
  bool ended_ = false;
  Ending ending_ = Ending::kChosen;
};

/// Starts `<program> worker` processes, all from one thread of its own: a worker dies with the
/// thread that started it (PR_SET_PDEATHSIG), and that has to be one that lives as long as the
/// pool. Outlives what it started. Thread-safe.
class WorkerSpawner {
 public:
  enum class Birth : std::uint8_t {
    kEager,         // as fast as it can
    kStandingBack,  // behind whoever else wants the processor, from the first moment
  };

  WorkerSpawner(std::string program, Birth birth) : program_(std::move(program)), birth_(birth) {}
  ~WorkerSpawner();
  WorkerSpawner(const WorkerSpawner&) = delete;
  WorkerSpawner& operator=(const WorkerSpawner&) = delete;

  /// Ends the starting thread and with it, by the kernel's hand, every worker it started. Nothing
  /// is started from then on. Idempotent.
  void stop();

  /// kBusy: no process could be started. Blocks for the start, not for what the process then does.
  Result<std::unique_ptr<WorkerProcess>> spawn();

 private:
  using Start = std::packaged_task<Result<std::unique_ptr<WorkerProcess>>()>;

  void run();

  const std::string program_;
  const Birth birth_;
  WorkerReaper reaper_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Start> orders_;  // guarded by mutex_
  bool stopping_ = false;     // guarded by mutex_
  std::thread thread_;        // started at the first order, under mutex_
};

}  // namespace strata::duck
