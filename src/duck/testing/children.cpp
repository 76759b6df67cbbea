#include "duck/testing/children.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace strata::duck {
namespace {

bool lives(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string stat(std::istreambuf_iterator<char>(file), {});
  const std::size_t state = stat.rfind(") ");
  return state != std::string::npos && stat[state + 2] != 'Z' && stat[state + 2] != 'X';
}

}  // namespace

std::set<pid_t> children() {
  std::set<pid_t> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (pid_t child = 0; list >> child;) found.insert(child);
  }
  return found;
}

std::set<pid_t> living_children() {
  std::set<pid_t> found = children();
  std::erase_if(found, [](pid_t child) { return !lives(child); });
  return found;
}

bool has_status_bit(pid_t process, std::string_view mask, unsigned bit) {
  const std::string label = std::string(mask) + ":";
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(label)) continue;
    return (std::stoull(line.substr(label.size()), nullptr, 16) >> bit & 1U) != 0;
  }
  return false;
}

}  // namespace strata::duck
