#pragma once

#include <sys/types.h>

#include <string>

#include "io/testing/temp_dir.h"
#include "lock/redis_url.h"

namespace strata::lock {

/// A redis-server of its own on a free loopback port, with a password, its files in a private
/// folder, nothing persistent. It dies with the thread that started it, at the latest.
class RedisServer {
 public:
  /// Why there can be none here; empty where there can.
  static std::string obstacle();

  RedisServer();
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  /// The same for life.
  const RedisAddress& address() const { return address_; }

  /// As a crash: what was in its memory is gone. start() may follow.
  void stop();
  void start();
  /// It hangs, as seen from outside: the kernel still takes connections for it.
  void pause();
  void resume();

 private:
  /// Whether it runs and answers; not so when somebody else has the port.
  bool try_start();
  bool has_ended();

  const io::TempDir folder_;
  RedisAddress address_;
  pid_t pid_ = -1;
};

}  // namespace strata::lock
