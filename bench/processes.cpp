#include "processes.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <system_error>

namespace strata::bench {
namespace {

struct Process {
  pid_t parent = 0;
  std::uint64_t ticks = 0;
};

/// What /proc/<pid>/stat says; nothing useful of a process that ended meanwhile.
Process read_process(const std::string& folder) {
  std::ifstream file(folder + "/stat");
  std::string line;
  std::getline(file, line);
  // The name, in brackets, may hold anything; what follows its last bracket is fields.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  Process process;
  fields >> skipped >> process.parent;
  constexpr int kFieldsBetween = 9;  // from the process group to the major faults of children
  for (int field = 0; field < kFieldsBetween; ++field) fields >> skipped;
  std::uint64_t user = 0, system = 0, children_user = 0, children_system = 0;
  fields >> user >> system >> children_user >> children_system;
  process.ticks = user + system + children_user + children_system;
  return process;
}

std::map<pid_t, Process> all_processes() {
  std::map<pid_t, Process> processes;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    processes.emplace(pid, read_process(entry.path()));
  }
  return processes;
}

std::uint64_t tree_ticks(const std::map<pid_t, Process>& processes, pid_t root) {
  const auto found = processes.find(root);
  std::uint64_t ticks = found == processes.end() ? 0 : found->second.ticks;
  for (const auto& [pid, process] : processes) {
    if (process.parent == root && pid != root) ticks += tree_ticks(processes, pid);
  }
  return ticks;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

double cpu_seconds(pid_t process) {
  return static_cast<double>(tree_ticks(all_processes(), process)) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace strata::bench
