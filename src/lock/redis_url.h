#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace strata::lock {

/// Where a Redis is, and who this node is there. Holds a secret: not for messages or the log.
struct RedisAddress {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string user;      // empty: Redis's default user
  std::string password;  // empty: no login
  int database = 0;
  bool operator==(const RedisAddress&) const = default;
};

/// Reads `redis://[user:password@]host:port[/database]`, where `user` may be empty and, as the
/// password, has its special characters as %XX. Anything else is kBadRequest with a message that
/// says which part is wrong and shows nothing of the URL, which may hold a password.
Result<RedisAddress> parse_redis_url(std::string_view url);

}  // namespace strata::lock
