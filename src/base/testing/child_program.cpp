#include "base/testing/child_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"

namespace strata {
namespace {

std::optional<int> wait(pid_t pid, int options) {
  int status = 0;
  pid_t waited = 0;
  do {
    waited = ::waitpid(pid, &status, options);
  } while (waited < 0 && errno == EINTR);
  STRATA_CHECK(waited >= 0);
  if (waited == 0) return std::nullopt;
  return status;
}

}  // namespace

pid_t start_program(std::vector<std::string> command, const std::string& log) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = 0;
  const int error =
      ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  STRATA_CHECK(error == 0);
  return pid;
}

std::optional<int> ended(pid_t pid) { return wait(pid, WNOHANG); }

int wait_for_end(pid_t pid) { return *wait(pid, 0); }

}  // namespace strata
