#include "duck/worker_limits.h"

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <new>
#include <stdexcept>

#include "base/sanitized.h"
#include "base/scheduling.h"

namespace strata::duck {
namespace {

constexpr rlim_t kDescriptorsMax = 256;  // DuckDB holds about seven, however many files it reads

/// What DDL writes is a file of views: a few hundred KB, and a log while it is at it.
constexpr rlim_t kDdlFileBytesMax = 1024UL * 1024 * 1024;
/// A snapshot, or what was spilled of one statement.
constexpr rlim_t kWorkbenchFileBytesMax = 64UL * 1024 * 1024 * 1024;

// Read in signal handlers, so plain and set before the handlers are.
std::uint64_t address_space_limit = 0;
int statm_descriptor = -1;

void set_limit(decltype(RLIMIT_AS) resource, rlim_t value) {
  const rlimit limit{.rlim_cur = value, .rlim_max = value};
  // Lowering one's own limits cannot fail but for a hard limit that is lower already, which holds.
  static_cast<void>(::setrlimit(resource, &limit));
}

/// Up to the hard limit, which the rest of this process's life keeps.
void set_soft_limit(decltype(RLIMIT_AS) resource, rlim_t value) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_max, value);
  static_cast<void>(::setrlimit(resource, &limit));
}

/// 0 when unknown. Async-signal-safe.
std::uint64_t address_space_in_use() {
  std::array<char, 32> text{};
  if (statm_descriptor < 0 || ::pread(statm_descriptor, text.data(), text.size() - 1, 0) <= 0) {
    return 0;
  }
  std::uint64_t pages = 0;
  for (const char character : text) {
    if (character < '0' || character > '9') break;
    pages = pages * 10 + static_cast<std::uint64_t>(character - '0');
  }
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

bool address_space_is_nearly_full() {
  return address_space_limit != 0 && address_space_in_use() > address_space_limit / 4 * 3;
}

void on_crash(int signal_number) {
  if (address_space_is_nearly_full()) ::_exit(kExitOutOfMemory);
  // SA_RESETHAND has put the default back: this time it kills.
  static_cast<void>(::raise(signal_number));
}

[[noreturn]] void on_terminate() {
  if (const std::exception_ptr exception = std::current_exception()) {
    try {
      std::rethrow_exception(exception);
    } catch (const std::bad_alloc&) {
      ::_exit(kExitOutOfMemory);
    } catch (...) {
      // Any other exception is a crash like the rest.
    }
  }
  std::abort();
}

rlim_t file_bytes_max(const ProcessLimits& limits) {
  switch (limits.use) {
    case WorkerUse::kQueries:
      return limits.answer_bytes;
    case WorkerUse::kDdl:
      return kDdlFileBytesMax;
    case WorkerUse::kWorkbench:
      return kWorkbenchFileBytesMax;
  }
  return 0;
}

void catch_crashes() {
  // A stack of its own for the handler, since a crash may be the end of the ordinary one.
  static std::array<char, 64UL * 1024> handler_stack;
  stack_t stack{};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  static_cast<void>(::sigaltstack(&stack, nullptr));
  struct sigaction action{};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  for (const int signal_number : {SIGABRT, SIGSEGV, SIGBUS, SIGXCPU}) {
    static_cast<void>(::sigaction(signal_number, &action, nullptr));
  }
  std::set_terminate(on_terminate);
}

}  // namespace

bool limits_address_space() { return !is_sanitized_build(); }

void apply_process_limits(const ProcessLimits& limits) {
  static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGKILL));
  // Nothing here is found by a relative path.
  static_cast<void>(::chdir("/"));
  // Rather a worker than the server.
  std::ofstream("/proc/self/oom_score_adj") << 500;
  if (limits.use != WorkerUse::kDdl) {
    stand_back();
    let_session_stand_back();
  }
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_NOFILE, kDescriptorsMax);
  if (!limits_address_space()) return;
  // Whatever the SQL found to write with, not a byte of it lands. The signal would kill.
  static_cast<void>(::signal(SIGXFSZ, SIG_IGN));
  set_limit(RLIMIT_FSIZE, file_bytes_max(limits));
  if (limits.use == WorkerUse::kQueries) set_soft_limit(RLIMIT_FSIZE, 0);
  // Every arena would reserve 64 MiB of the address space.
  static_cast<void>(::mallopt(M_ARENA_MAX, 1));
  if (std::FILE* statm = std::fopen("/proc/self/statm", "re"); statm != nullptr) {
    statm_descriptor = ::fileno(statm);  // kept for life: a crashing process opens nothing
  }
  address_space_limit = limits.address_space_bytes;
  set_limit(RLIMIT_AS, limits.address_space_bytes);
  catch_crashes();
}

WritingAllowed::WritingAllowed() {
  if (limits_address_space()) set_soft_limit(RLIMIT_FSIZE, RLIM_INFINITY);
}

WritingAllowed::~WritingAllowed() {
  if (limits_address_space()) set_soft_limit(RLIMIT_FSIZE, 0);
}

void allow_cpu_time(std::chrono::seconds more) {
  rusage used{};
  static_cast<void>(::getrusage(RUSAGE_SELF, &used));
  const auto so_far = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  set_soft_limit(RLIMIT_CPU, so_far + static_cast<rlim_t>(more.count()) + 1);
}

bool address_space_is_half_used() {
  return address_space_limit != 0 && address_space_in_use() > address_space_limit / 2;
}

}  // namespace strata::duck
