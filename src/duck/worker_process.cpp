#include "duck/worker_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/scheduling.h"
#include "duck/worker_limits.h"

namespace strata::duck {
namespace {

constexpr int kChildSocket = 3;
constexpr std::chrono::milliseconds kEndTick{2};

Error cannot_start(std::string detail) {
  return make_error(Code::kBusy, "no query worker could be started: send it again in a moment",
                    std::move(detail));
}

Ending ending_of(const siginfo_t& child) {
  if (child.si_code == CLD_EXITED) {
    if (child.si_status == 0) return Ending::kChosen;
    return child.si_status == kExitOutOfMemory ? Ending::kOutOfMemory : Ending::kCrashed;
  }
  switch (child.si_status) {
    case SIGKILL:
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
    case SIGQUIT:
      return Ending::kKilled;
    case SIGXCPU:
      return Ending::kCpuTime;
    default:
      return Ending::kCrashed;
  }
}

/// The little a worker needs. It runs strangers' SQL: nothing else of the server's environment is
/// its business.
std::vector<std::string> worker_environment() {
  std::vector<std::string> environment = {"TZ=UTC", "LANG=C.UTF-8"};
  for (const char* name :
       {"PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name); value != nullptr) {
      environment.push_back(std::string(name) + '=' + value);
    }
  }
  return environment;
}

class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  /// Nothing of the server's is open in the child but standard error and the socket.
  int prepare(int child_socket) {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    // A session of its own: Ctrl-C at the server's terminal is the server's to handle, and where
    // the kernel shares the processor out by sessions, it has a share of its own.
    const std::array results = {
        ::posix_spawn_file_actions_adddup2(&actions_, child_socket, kChildSocket),
        ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
        ::posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, STDOUT_FILENO),
        ::posix_spawn_file_actions_addclosefrom_np(&actions_, kChildSocket + 1),
        ::posix_spawnattr_setflags(
            &attributes_, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                             POSIX_SPAWN_SETSID)),
        ::posix_spawnattr_setsigmask(&attributes_, &none),
        ::posix_spawnattr_setsigdefault(&attributes_, &all),
    };
    for (const int result : results) {
      if (result != 0) return result;
    }
    return 0;
  }

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

Result<std::unique_ptr<WorkerProcess>> start(const std::string& program, WorkerSpawner::Birth birth,
                                             WorkerReaper& reaper) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return cannot_start(std::string("socketpair: ") + std::strerror(errno));
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);

  SpawnSettings settings;
  if (const int error = settings.prepare(theirs.get()); error != 0) {
    return cannot_start(std::string("posix_spawn settings: ") + std::strerror(error));
  }
  std::vector<std::string> environment = worker_environment();
  std::vector<char*> variables;
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  std::string name = program;
  std::string command = "worker";
  const std::array<char*, 3> arguments = {name.data(), command.data(), nullptr};

  // Never fork: the server's other threads may hold any lock.
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), settings.actions(), settings.attributes(),
                                  arguments.data(), variables.data());
  if (error != 0) return cannot_start(std::string("posix_spawn: ") + std::strerror(error));
  // To link and to start is tens of milliseconds of work, before the worker can stand back itself.
  // Late where the server keeps every core busy, since this thread stands back too.
  if (birth == WorkerSpawner::Birth::kStandingBack) hold_session_back(pid);
  return std::make_unique<WorkerProcess>(pid, std::move(ours), reaper);
}

}  // namespace

WorkerProcess::~WorkerProcess() { end(std::chrono::milliseconds(0)); }

bool WorkerProcess::has_ended(bool block) {
  if (ended_) return true;
  siginfo_t child{};
  const int options = WEXITED | WNOWAIT | (block ? 0 : WNOHANG);
  int waited = 0;
  do {
    waited = ::waitid(P_PID, static_cast<id_t>(pid_), &child, options);
  } while (waited != 0 && errno == EINTR);
  if (waited == 0 && child.si_pid == 0) return false;
  ended_ = true;
  // Else somebody set SIGCHLD to be ignored, and the kernel has reaped it.
  if (waited == 0) {
    ending_ = ending_of(child);
    reaper_.take(pid_);
  }
  return true;
}

Ending WorkerProcess::end(std::chrono::milliseconds patience) {
  const SteadyTime give_up = SystemClock().steady() + patience;
  while (!has_ended(false)) {
    if (SystemClock().steady() >= give_up) {
      // By its id, which stays its own until it is reaped.
      static_cast<void>(::kill(pid_, SIGKILL));
      has_ended(true);
      ending_ = Ending::kChosen;
      break;
    }
    std::this_thread::sleep_for(kEndTick);
  }
  return ending_;
}

WorkerSpawner::~WorkerSpawner() { stop(); }

void WorkerSpawner::stop() {
  std::thread ending;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    ending = std::move(thread_);
  }
  changed_.notify_all();
  if (ending.joinable()) ending.join();
}

Result<std::unique_ptr<WorkerProcess>> WorkerSpawner::spawn() {
  try {
    Start order([this] { return start(program_, birth_, reaper_); });
    auto started = order.get_future();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return cannot_start("stopped");
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
      orders_.push_back(std::move(order));
    }
    changed_.notify_all();
    return started.get();
  } catch (const std::exception& exception) {
    return cannot_start(exception.what());
  }
}

void WorkerSpawner::run() {
  if (birth_ == Birth::kStandingBack) stand_back();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !orders_.empty(); });
    if (orders_.empty()) return;
    Start order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    order();
    lock.lock();
  }
}

}  // namespace strata::duck
