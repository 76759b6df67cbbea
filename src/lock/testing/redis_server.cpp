#include "lock/testing/redis_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/unique_fd.h"
#include "lock/redis_client.h"

namespace strata::lock {
namespace {

constexpr std::string_view kProgram = "redis-server";
constexpr std::chrono::milliseconds kTick{10};
constexpr int kTriesMax = 100;

std::uint16_t find_free_port() {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  STRATA_CHECK(::bind(listener.get(), raw, size) == 0);
  STRATA_CHECK(::getsockname(listener.get(), raw, &size) == 0);
  return ntohs(address.sin_port);
}

/// Looked for in PATH.
pid_t spawn(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  STRATA_CHECK(::posix_spawnp(&pid, arguments[0], nullptr, nullptr, arguments.data(), environ) ==
               0);
  return pid;
}

}  // namespace

std::string RedisServer::obstacle() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((std::filesystem::path(folder) / kProgram).c_str(), X_OK) == 0) return {};
  }
  return "redis-server is missing";
}

RedisServer::RedisServer() {
  std::signal(SIGPIPE, SIG_IGN);  // as in the server (RedisConnection)
  address_ = {.host = "127.0.0.1", .password = random_hex(8)};
  for (int tries = 0; pid_ < 0 && tries < kTriesMax; ++tries) {
    address_.port = find_free_port();
    try_start();
  }
  STRATA_CHECK(pid_ >= 0);
}

RedisServer::~RedisServer() { stop(); }

void RedisServer::start() {
  for (int tries = 0; pid_ < 0 && tries < kTriesMax; ++tries) {
    if (!try_start()) std::this_thread::sleep_for(kTick);
  }
  STRATA_CHECK(pid_ >= 0);
}

void RedisServer::stop() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void RedisServer::pause() { STRATA_CHECK(::kill(pid_, SIGSTOP) == 0); }
void RedisServer::resume() { STRATA_CHECK(::kill(pid_, SIGCONT) == 0); }

bool RedisServer::try_start() {
  pid_ = spawn({"setpriv", "--pdeathsig", "KILL", std::string(kProgram), "--bind", address_.host,
                "--port", std::to_string(address_.port), "--requirepass", address_.password,
                "--dir", folder_.path(), "--logfile", folder_.path() + "/log", "--save", "",
                "--appendonly", "no"});
  // With our password it can only be ours that answers.
  RedisClient client(address_);
  while (!has_ended()) {
    if (client.ping()) return true;
    std::this_thread::sleep_for(kTick);
  }
  return false;
}

bool RedisServer::has_ended() {
  if (::waitpid(pid_, nullptr, WNOHANG) == 0) return false;
  pid_ = -1;
  return true;
}

}  // namespace strata::lock
