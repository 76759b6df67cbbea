#pragma once

#include <chrono>

#include "catalog/postgres_database.h"
#include "kb/root_identity.h"
#include "lock/redis_client.h"
#include "lock/redis_kb_lock.h"

namespace strata::kb {

/// What a node was started with besides its folder; null: it has none. Borrowed, and outlives what
/// it is given to. Either may be out of reach: batches land and rows are read all the same.
struct SharedServices {
  catalog::PostgresDatabase* postgres = nullptr;
  lock::RedisClient* redis = nullptr;
  std::chrono::milliseconds redis_ttl = lock::kRedisLockTtl;  // of a lock that is not renewed

  NodeMeans means() const { return {.redis = redis != nullptr, .postgres = postgres != nullptr}; }
};

}  // namespace strata::kb
