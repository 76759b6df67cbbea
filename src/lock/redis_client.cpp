#include "lock/redis_client.h"

#include <utility>

namespace strata::lock {
namespace {

constexpr std::size_t kIdleMax = 4;

}  // namespace

std::optional<RedisConnection> RedisClient::take_idle() {
  const std::lock_guard lock(mutex_);
  while (!idle_.empty()) {
    RedisConnection connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection.is_open()) return connection;
  }
  return std::nullopt;
}

Result<RedisReply> RedisClient::command(RedisCommand command) {
  auto connection = take_idle();
  if (!connection) {
    STRATA_ASSIGN_OR_RETURN(connection, RedisConnection::open(address_, timeouts_));
  }
  auto reply = connection->command(command);
  const std::lock_guard lock(mutex_);
  if (!reply) {
    // What broke this one may have broken the others, and each would cost a caller his command.
    idle_.clear();
  } else if (idle_.size() < kIdleMax) {
    idle_.push_back(std::move(*connection));
  }
  return reply;
}

Result<void> RedisClient::ping() {
  STRATA_RETURN_IF_ERROR(command({"PING"}));
  return {};
}

}  // namespace strata::lock
