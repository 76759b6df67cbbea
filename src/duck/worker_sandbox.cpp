#include "duck/worker_sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/sanitized.h"
#include "base/unique_fd.h"

namespace strata::duck {
namespace {

Error refused(const char* what) {
  return make_error(Code::kInternal, "a query worker could not be locked in",
                    std::string(what) + ": " + std::strerror(errno));
}

// --- Landlock -----------------------------------------------------------------------------------

// Debian 12's header ends at ABI 2: what came later has its numbers here.
constexpr std::uint64_t kTruncate = 1ULL << 14U;         // ABI 3
constexpr std::uint64_t kDeviceIoctl = 1ULL << 15U;      // ABI 5
constexpr std::uint64_t kTcpBindAndConnect = 3;          // ABI 4
constexpr std::uint64_t kAbstractSocketsAndSignals = 3;  // ABI 6

struct RulesetAttributes {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};

constexpr std::uint64_t kReadFiles = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kList = LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWrite = kReadFiles | kList | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate |
                                 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;

int landlock_abi() {
  const long abi =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

/// Everything this kernel can refuse is refused unless a rule allows it.
RulesetAttributes everything(int abi) {
  RulesetAttributes all{.files = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1U) - 1};
  if (abi >= 2) all.files |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) all.files |= kTruncate;
  if (abi >= 4) all.network = kTcpBindAndConnect;
  if (abi >= 5) all.files |= kDeviceIoctl;
  if (abi >= 6) all.scoped = kAbstractSocketsAndSignals;
  return all;
}

std::size_t attributes_size(int abi) {
  if (abi >= 6) return sizeof(RulesetAttributes);
  return abi >= 4 ? offsetof(RulesetAttributes, scoped) : offsetof(RulesetAttributes, network);
}

/// The engine asks while it opens how much memory and how many processors the process may have, and
/// does not open if it is refused an answer.
constexpr std::array kReadByTheEngine = {"/proc/self/cgroup", "/sys/fs/cgroup"};

/// To the file or folder at `path` and all below it. Rules are kept by what the path means now.
Result<void> allow(int ruleset, const std::string& path, std::uint64_t rights) {
  const UniqueFd handle(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!handle.valid()) {
    if (errno == ENOENT) return {};
    return refused("open of an allowed path");
  }
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = handle.get();
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    return refused("landlock_add_rule");
  }
  return {};
}

/// A view spells a folder's `[`, `*` and `?` as globs (Sql::glob), and the engine finds what a glob
/// means by listing the folder around it. Names only, and only for roots so called.
Result<void> allow_globs(int ruleset, const std::string& path) {
  for (std::size_t at = path.find_first_of("[*?"); at != std::string::npos;
       at = path.find_first_of("[*?", path.find('/', at))) {
    const std::size_t slash = path.rfind('/', at);
    STRATA_RETURN_IF_ERROR(allow(ruleset, path.substr(0, slash == 0 ? 1 : slash), kList));
    if (path.find('/', at) == std::string::npos) break;
  }
  return {};
}

Result<void> enter_landlock(const SandboxRules& rules) {
  const int abi = landlock_abi();
  if (abi == 0) return {};
  const RulesetAttributes attributes = everything(abi);
  const UniqueFd ruleset(static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &attributes, attributes_size(abi), 0)));
  if (ruleset.get() < 0) return refused("landlock_create_ruleset");
  for (const char* path : kReadByTheEngine) {
    STRATA_RETURN_IF_ERROR(allow(ruleset.get(), path, kReadFiles));
  }
  for (const std::string& folder : rules.readable_folders) {
    STRATA_RETURN_IF_ERROR(allow(ruleset.get(), folder, kReadFiles | kList));
  }
  STRATA_RETURN_IF_ERROR(allow_globs(ruleset.get(), rules.listed_path));
  if (!rules.writable_folder.empty()) {
    STRATA_RETURN_IF_ERROR(allow(ruleset.get(), rules.writable_folder, kWrite & attributes.files));
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return refused("landlock_restrict_self");
  }
  return {};
}

// --- seccomp ------------------------------------------------------------------------------------

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kForeignNumbers = 0x40000000;  // the x32 calls: the same ones, renumbered
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kForeignNumbers = 0;
#else
#error "worker_sandbox.cpp: the system calls of this architecture have not been gone through"
#endif

/// The newest call that was gone through (Linux 6.1). Later ones do not exist, as far as a worker
/// is told: a library that knows one has another way for kernels without it.
constexpr std::uint32_t kNewestKnownCall = SYS_set_mempolicy_home_node;

/// Answered EPERM. What Landlock of every ABI refuses by itself is not repeated.
constexpr std::array kRefusedCalls = {
    // The network, descriptors from elsewhere included. The socket to the server is open already.
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_sendmmsg,
    SYS_recvmmsg,
    // Other programs and processes; clone, kill and the like are looked at below.
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_process_mrelease,
    SYS_kcmp,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_kill,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_unshare,
    SYS_setns,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_sched_setaffinity,
    SYS_sched_setattr,
    SYS_sched_setparam,
    SYS_sched_setscheduler,
    SYS_migrate_pages,
    SYS_move_pages,
    // What a file is called like, whose it is and when it changed; writes by path before ABI 3.
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_utimensat,
    SYS_truncate,
    SYS_ioctl,
    // Files by other means than a path.
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    SYS_fanotify_mark,
    SYS_quotactl,
    SYS_quotactl_fd,
    // Memory that the limit of the address space does not count.
    SYS_memfd_create,
    SYS_memfd_secret,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_msgget,
    SYS_semget,
    SYS_mq_open,
    // Mounts.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    // The kernel's rarer doors.
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_personality,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_syslog,
    SYS_vhangup,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
#if defined(__x86_64__)
    // Calls that newer architectures do without.
    SYS_fork,
    SYS_vfork,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_modify_ldt,
    SYS_iopl,
    SYS_ioperm,
    SYS_kexec_file_load,
    SYS_uselib,
#endif
};

class Filter {
 public:
  static constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
  static constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
  static constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
  static constexpr std::uint32_t kUnknown = SECCOMP_RET_ERRNO | ENOSYS;

  enum class Test : std::uint16_t { kEqual = BPF_JEQ, kAtLeast = BPF_JGE, kAnyBit = BPF_JSET };

  void load(std::size_t offset) {
    code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  }
  void answer(std::uint32_t verdict) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, verdict)); }
  /// Of what was loaded.
  void answer_if(Test test, std::uint32_t value, std::uint32_t verdict) {
    code_.push_back(jump(test, value, 0, 1));
    answer(verdict);
  }
  void answer_unless(std::uint32_t value, std::uint32_t verdict) {
    code_.push_back(jump(Test::kEqual, value, 1, 0));
    answer(verdict);
  }
  /// The call `number`: `if_so` when its argument stands the test, else `otherwise`.
  struct ByArgument {
    std::uint32_t number;
    unsigned argument;
    Test test;
    std::uint32_t value;
    std::uint32_t if_so;
    std::uint32_t otherwise;
  };
  /// With the call's number loaded. Looks at the argument's lower half: these are all ints.
  void answer_by(const ByArgument& rule) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    code_.push_back(jump(Test::kEqual, rule.number, 0, 4));
    load(offsetof(seccomp_data, args) + rule.argument * sizeof(std::uint64_t));
    answer_if(rule.test, rule.value, rule.if_so);
    answer(rule.otherwise);
  }

  Result<void> install() {
    const sock_fprog program{.len = static_cast<unsigned short>(code_.size()),
                             .filter = code_.data()};
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
      return refused("seccomp");
    }
    return {};
  }

 private:
  static sock_filter jump(Test test, std::uint32_t value, std::uint8_t if_so,
                          std::uint8_t otherwise) {
    const auto operation = static_cast<std::uint16_t>(BPF_JMP | BPF_K | static_cast<int>(test));
    return BPF_JUMP(operation, value, if_so, otherwise);
  }

  std::vector<sock_filter> code_;
};

bool has_seccomp() {
  const std::uint32_t action = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

Result<void> enter_seccomp() {
  if (!has_seccomp()) return {};
  using Test = Filter::Test;
  const auto own_id = static_cast<std::uint32_t>(::getpid());
  Filter filter;
  filter.load(offsetof(seccomp_data, arch));
  // The numbers below are this architecture's; a process of ours makes no call of another.
  filter.answer_unless(kArchitecture, Filter::kKill);
  filter.load(offsetof(seccomp_data, nr));
  if (kForeignNumbers != 0) {
    filter.answer_if(Test::kAtLeast, kForeignNumbers, Filter::kKill);
  }
  filter.answer_if(Test::kAtLeast, kNewestKnownCall + 1, Filter::kUnknown);
  for (const long number : kRefusedCalls) {
    filter.answer_if(Test::kEqual, static_cast<std::uint32_t>(number), Filter::kRefuse);
  }
  // Its flags lie in memory, where a filter cannot look: libraries then take clone.
  filter.answer_if(Test::kEqual, SYS_clone3, Filter::kUnknown);
  filter.answer_by({.number = SYS_clone,
                    .argument = 0,
                    .test = Test::kAnyBit,
                    .value = CLONE_THREAD,
                    .if_so = Filter::kAllow,
                    .otherwise = Filter::kRefuse});
  // raise() and abort(): to itself.
  filter.answer_by({.number = SYS_tgkill,
                    .argument = 0,
                    .test = Test::kEqual,
                    .value = own_id,
                    .if_so = Filter::kAllow,
                    .otherwise = Filter::kRefuse});
  filter.answer_by({.number = SYS_prlimit64,
                    .argument = 0,
                    .test = Test::kEqual,
                    .value = 0,
                    .if_so = Filter::kAllow,
                    .otherwise = Filter::kRefuse});
  // No worker outlives the server.
  filter.answer_by({.number = SYS_prctl,
                    .argument = 0,
                    .test = Test::kEqual,
                    .value = PR_SET_PDEATHSIG,
                    .if_so = Filter::kRefuse,
                    .otherwise = Filter::kAllow});
  filter.answer(Filter::kAllow);
  return filter.install();
}

}  // namespace

std::string unsafe_queries_reason(const SandboxSupport& support) {
  const char* missing = "Landlock and seccomp";
  if (support.seccomp) missing = "Landlock";
  if (support.landlock_abi > 0) missing = "seccomp";
  return fmt::format(
      "No SQL is run: the server's kernel does not offer {}, so that nothing would hold a query to "
      "its knowledgebase's files if DuckDB's own limits failed. Run the server on Linux 5.13 or "
      "newer with both allowed, or start it with --unsafe-queries.",
      missing);
}

SandboxSupport probe_sandbox() {
  return {.landlock_abi = landlock_abi(), .seccomp = has_seccomp()};
}

bool can_be_sandboxed() { return !is_sanitized_build(); }

Result<void> enter_sandbox(const SandboxRules& rules) {
  if (!can_be_sandboxed()) return {};
  // Both kinds of rules ask for it: otherwise a set-user-id program would run under them.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return refused("PR_SET_NO_NEW_PRIVS");
  STRATA_RETURN_IF_ERROR(enter_landlock(rules));
  return enter_seccomp();
}

}  // namespace strata::duck
