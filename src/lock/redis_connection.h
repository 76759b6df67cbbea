#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "lock/redis_url.h"

struct redisContext;

/// hiredis, whose header only redis_connection.cpp includes.
namespace strata::lock {

inline constexpr std::chrono::milliseconds kRedisConnectTimeout{1'000};
inline constexpr std::chrono::milliseconds kRedisCommandTimeout{2'000};

/// Each above zero. The one of a command holds between any two bytes of its answer, and for the
/// login. A host's name is looked up by the system, which bounds that by itself.
struct RedisTimeouts {
  std::chrono::milliseconds connect = kRedisConnectTimeout;
  std::chrono::milliseconds command = kRedisCommandTimeout;
};

/// The command and its arguments, any bytes.
using RedisCommand = std::initializer_list<std::string_view>;
/// A text, a number, or neither (Redis's nil): no command used here answers with a list.
struct RedisReply {
  std::optional<std::string> text;
  std::optional<std::int64_t> number;
  bool operator==(const RedisReply&) const = default;
};

/// One connection, logged in, its database chosen. For one thread at a time. Its process has to
/// ignore SIGPIPE, as the server does: hiredis writes to connections that Redis has closed.
///
/// Every error is kIo, its message for anybody, its detail with Redis's words and address for the
/// log; neither holds user or password.
class RedisConnection {
 public:
  static Result<RedisConnection> open(const RedisAddress& address, const RedisTimeouts& timeouts);

  /// After an error it is not known whether Redis carried the command out, and the connection is of
  /// no more use.
  Result<RedisReply> command(RedisCommand command);
  /// Whether Redis has left it open since the last answer.
  bool is_open() const;

 private:
  struct Free {
    void operator()(redisContext* context) const;
  };
  RedisConnection(std::unique_ptr<redisContext, Free> context, std::string name)
      : context_(std::move(context)), name_(std::move(name)) {}

  Result<void> log_in(const RedisAddress& address);
  Error out_of_reach() const;

  std::unique_ptr<redisContext, Free> context_;
  std::string name_;  // for the log
};

}  // namespace strata::lock
