#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "base/error.h"
#include "lock/redis_connection.h"

namespace strata::lock {

/// One Redis, for all threads of a process. Each command has a connection to itself; idle ones are
/// kept, and replaced once they have failed. Connects at the first command, so a node starts while
/// Redis is away. Thread-safe.
class RedisClient {
 public:
  explicit RedisClient(RedisAddress address, RedisTimeouts timeouts = {})
      : address_(std::move(address)), timeouts_(timeouts) {}
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  /// kIo as RedisConnection says, after the sum of the timeouts of connect, login and command at
  /// the latest. Nothing is sent twice: Redis may have carried out what failed.
  Result<RedisReply> command(RedisCommand command);
  /// Whether Redis answers and lets this node in.
  Result<void> ping();

 private:
  std::optional<RedisConnection> take_idle();

  const RedisAddress address_;
  const RedisTimeouts timeouts_;
  std::mutex mutex_;
  std::vector<RedisConnection> idle_;  // guarded by mutex_
};

}  // namespace strata::lock
