#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.h"
#include "lock/kb_lock.h"
#include "lock/redis_client.h"

namespace strata::lock {

/// How long a holder that renews no more keeps others waiting (architecture.md, "The lock").
inline constexpr std::chrono::milliseconds kRedisLockTtl{65'000};

struct RedisLockOptions {
  /// `strata:<root uuid>:kb:<kb uuid>`; the lock is the key `<prefix>:lock`.
  std::string key_prefix;
  /// How long a lease lasts that is not renewed.
  std::chrono::milliseconds ttl = kRedisLockTtl;
};

/// The lock of a kb as a key in Redis whose value names this acquisition and no other. While the
/// lease lives a thread of its own renews it at every third of the TTL.
///
/// A lease is held until `ttl` after the moment before the last successful renewal was sent, by
/// `clock`; by then Redis has not yet dropped the key, unless its own clock was set forward or it
/// lost its memory. Once not held, it never is again: not either when a renewal finds the key gone
/// or somebody else's. Renewal and release touch the key only while its value is this
/// acquisition's, so a holder that was paused past the TTL harms nobody. Letting a lease go waits
/// for Redis as long as the client's timeouts; out of its reach the TTL frees the key.
///
/// kIo comes at once, not after `wait`. A key that Redis may have taken without an answer is freed
/// by this lock's next acquisition, else by its TTL. Nobody queues in order: a waiter asks again
/// every few dozen milliseconds. Borrows `redis`, `clock` and `acquisitions`, which outlive the
/// leases too.
std::unique_ptr<KbLock> make_redis_kb_lock(RedisClient& redis, const Clock& clock,
                                           RedisLockOptions options,
                                           AcquisitionCounter& acquisitions);

}  // namespace strata::lock
