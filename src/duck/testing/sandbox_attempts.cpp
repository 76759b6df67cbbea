#include "duck/testing/sandbox_attempts.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "duck/handles.h"
#include "duck/worker_sandbox.h"
#include "duck/worker_session.h"

namespace strata::duck {
namespace {

void report(const char* attempt, long result) {
  std::printf("%s: %s\n", attempt, result < 0 ? std::strerror(errno) : "done");
}

/// As whoever got past the gate and DuckDB's settings would.
void attempt_files(const std::string& kb, const std::string& folder) {
  const std::string batch = kb + "/strata/streams/s/data/b.parquet";
  const std::string beside = kb + "/strata/streams/s/data/evil.parquet";
  constexpr int kNew = O_WRONLY | O_CREAT;
  report("read a batch", ::open(batch.c_str(), O_RDONLY));
  report("make a batch", ::open(beside.c_str(), kNew, 0600));
  report("write a batch", ::open(batch.c_str(), O_WRONLY));
  report("cut a batch", ::truncate(batch.c_str(), 0));
  report("remove a batch", ::unlink(batch.c_str()));
  report("rename a batch", ::rename(batch.c_str(), beside.c_str()));
  report("link a batch", ::link(batch.c_str(), beside.c_str()));
  report("change a batch's mode", ::chmod(batch.c_str(), 0777));
  report("make a folder", ::mkdir((kb + "/strata/streams/evil").c_str(), 0700));
  report("read kb.json", ::open((kb + "/kb.json").c_str(), O_RDONLY));
  report("read another kb", ::open((kb + "/../other/batch").c_str(), O_RDONLY));
  report("read a token", ::open((kb + "/../../tokens/t.json").c_str(), O_RDONLY));
  report("read /etc/passwd", ::open("/etc/passwd", O_RDONLY));
  report("list /", ::open("/", O_RDONLY | O_DIRECTORY));
  report("write in staging", ::open((kb + "/staging/evil").c_str(), kNew, 0600));
  if (folder.empty()) return;
  report("write the copy", ::open((folder + "/copy").c_str(), kNew, 0600));
  report("remove the copy", ::unlink((folder + "/copy").c_str()));
  report("make a folder beside the copy", ::mkdir((folder + "/folder").c_str(), 0700));
}

void attempt_calls() {
  std::array<char*, 1> nothing = {nullptr};
  std::thread([] { report("a thread", 0); }).join();
  report("socket", ::socket(AF_INET, SOCK_STREAM, 0));
  std::array<int, 2> ends{};
  report("socketpair", ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()));
  report("connect", ::connect(STDIN_FILENO, nullptr, 0));
  report("execve", ::execve("/bin/true", nothing.data(), nothing.data()));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  report("fork", child);
  report("kill the server", ::kill(::getppid(), 0));
  report("kill the server's thread", ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0));
  report("outlive the server", ::syscall(SYS_prctl, PR_SET_PDEATHSIG, 0));
  report("ptrace", ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr));
  report("limit the server", ::syscall(SYS_prlimit64, ::getppid(), 0, nullptr, nullptr));
  report("io_uring", ::syscall(SYS_io_uring_setup, 1, nullptr));
  report("mount", ::syscall(SYS_mount, nullptr, nullptr, nullptr, 0, nullptr));
  report("memory without a limit", ::syscall(SYS_memfd_create, "m", 0));
  report("a call of a later kernel", ::syscall(SYS_set_mempolicy_home_node + 1));
}

/// With DuckDB's own settings off.
void attempt_copy(const std::string& kb) {
  Database database;
  Connection connection;
  const bool opened = duckdb_open(":memory:", database.out()) == DuckDBSuccess &&
                      duckdb_connect(database.get(), connection.out()) == DuckDBSuccess;
  QueryResult result;
  const std::string sql = "COPY (SELECT 1) TO '" + kb + "/strata/streams/s/data/evil.parquet'";
  const bool done =
      opened && duckdb_query(connection.get(), sql.c_str(), result.get()) == DuckDBSuccess;
  const bool denied = result.error().find("Permission denied") != std::string::npos;
  std::printf("copy: %s\n", done ? "done" : denied ? "Permission denied" : "another error");
}

}  // namespace

int attempt_everything(const std::string& kb, const std::string& folder) {
  const auto entered = enter_sandbox(
      {.readable_folders = readable_folders(kb), .listed_path = kb, .writable_folder = folder});
  if (!entered) {
    std::printf("%s\n", entered.error().detail.c_str());
    return EXIT_FAILURE;
  }
  attempt_files(kb, folder);
  attempt_calls();
  attempt_copy(kb);
  return EXIT_SUCCESS;
}

}  // namespace strata::duck
