#include "lock/testing/redis_server.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/check.h"
#include "base/ids.h"
#include "base/testing/child_program.h"
#include "base/testing/loopback.h"
#include "lock/redis_client.h"

namespace strata::lock {
namespace {

constexpr std::string_view kProgram = "redis-server";
constexpr std::chrono::milliseconds kTick{10};
constexpr int kTriesMax = 100;

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
    address_.port = free_port();
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
  wait_for_end(pid_);
  pid_ = -1;
}

void RedisServer::pause() { STRATA_CHECK(::kill(pid_, SIGSTOP) == 0); }
void RedisServer::resume() { STRATA_CHECK(::kill(pid_, SIGCONT) == 0); }

bool RedisServer::try_start() {
  pid_ = start_program(
      {"setpriv", "--pdeathsig", "KILL", std::string(kProgram), "--bind", address_.host, "--port",
       std::to_string(address_.port), "--requirepass", address_.password, "--dir", folder_.path(),
       "--save", "", "--appendonly", "no"},
      folder_.path() + "/log");
  // With our password it can only be ours that answers.
  RedisClient client(address_);
  while (!has_ended()) {
    if (client.ping()) return true;
    std::this_thread::sleep_for(kTick);
  }
  return false;
}

bool RedisServer::has_ended() {
  if (!ended(pid_)) return false;
  pid_ = -1;
  return true;
}

}  // namespace strata::lock
