#include "lock/redis_kb_lock.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "lock/waiting.h"

namespace strata::lock {
namespace {

constexpr PauseRange kPauses{.min = std::chrono::milliseconds(5),
                             .max = std::chrono::milliseconds(50)};
constexpr int kRenewalsPerTtl = 3;
/// After a renewal that did not get through, so that there are more tries than one before the
/// deadline.
constexpr int kRetriesPerTtl = 30;
constexpr std::size_t kOwnerBytes = 16;

constexpr std::string_view kRenew =
    "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end "
    "return redis.call('pexpire', KEYS[1], ARGV[2])";
constexpr std::string_view kRelease =
    "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end "
    "return redis.call('del', KEYS[1])";

/// The key of one acquisition.
class OwnedKey {
 public:
  OwnedKey(RedisClient& redis, std::string key, std::chrono::milliseconds ttl)
      : redis_(redis), key_(std::move(key)), owner_(random_hex(kOwnerBytes)), ttl_(ttl) {}

  std::chrono::milliseconds ttl() const { return ttl_; }
  /// Whether nobody else had it.
  Result<bool> take() {
    STRATA_ASSIGN_OR_RETURN(const RedisReply reply,
                            redis_.command({"SET", key_, owner_, "NX", "PX", ttl_text()}));
    return reply.text.has_value();
  }
  /// Whether it was still ours.
  Result<bool> renew() {
    STRATA_ASSIGN_OR_RETURN(const RedisReply reply,
                            redis_.command({"EVAL", kRenew, "1", key_, owner_, ttl_text()}));
    return reply.number == 1;
  }
  /// Nothing happens to it once it is somebody else's.
  Result<void> release() {
    STRATA_RETURN_IF_ERROR(redis_.command({"EVAL", kRelease, "1", key_, owner_}));
    return {};
  }

 private:
  std::string ttl_text() const { return std::to_string(ttl_.count()); }

  RedisClient& redis_;
  std::string key_;
  std::string owner_;
  std::chrono::milliseconds ttl_;
};

class RedisLease final : public Lease {
 public:
  /// What its ends are told to, and as whose.
  struct Account {
    const AcquisitionCounter& acquisitions;
    AcquisitionCounter::Key key;
  };
  RedisLease(const Clock& clock, OwnedKey key, SteadyTime deadline, Account account)
      : clock_(clock), key_(std::move(key)), account_(std::move(account)), deadline_(deadline) {}
  RedisLease(const RedisLease&) = delete;
  RedisLease& operator=(const RedisLease&) = delete;
  ~RedisLease() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    const bool was_held = held();
    ignore(key_.release(), "its TTL frees it too");
    if (!was_held) account_.acquisitions.lost(account_.key);
  }

  /// Throws when the system has no thread left.
  void start_renewing() {
    thread_ = std::thread([this] { renew(); });
  }

  bool held() const override {
    const std::lock_guard lock(mutex_);
    return held_locked();
  }

 private:
  bool held_locked() const { return !lost_ && clock_.steady() < deadline_; }

  void renew() {
    std::unique_lock lock(mutex_);
    auto pause = key_.ttl() / kRenewalsPerTtl;
    while (!changed_.wait_for(lock, pause, [this] { return stopping_; }) && held_locked()) {
      const SteadyTime sent = clock_.steady();
      lock.unlock();
      const auto renewed = key_.renew();
      lock.lock();
      if (!renewed) {
        pause = std::max(key_.ttl() / kRetriesPerTtl, std::chrono::milliseconds(1));
        continue;
      }
      if (!*renewed) lost_ = true;
      // A deadline that passed meanwhile stays: somebody may have been told already.
      if (held_locked()) deadline_ = sent + key_.ttl();
      pause = key_.ttl() / kRenewalsPerTtl;
    }
  }

  const Clock& clock_;
  OwnedKey key_;  // used by the thread while there is one
  const Account account_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  SteadyTime deadline_;    // guarded by mutex_
  bool lost_ = false;      // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

class RedisKbLock final : public KbLock {
 public:
  RedisKbLock(RedisClient& redis, const Clock& clock, RedisLockOptions options,
              AcquisitionCounter& acquisitions)
      : redis_(redis), clock_(clock), options_(std::move(options)), acquisitions_(acquisitions) {}

  Result<std::unique_ptr<Lease>> acquire(const LockRequest& request) override {
    return wait_for_lease(clock_, request, kPauses, acquisitions_,
                          [this, &request] { return try_once(request); });
  }

 private:
  Result<std::unique_ptr<Lease>> try_once(const LockRequest& request) {
    const std::string& kb = request.kb;
    OwnedKey key(redis_, options_.key_prefix + ":lock", options_.ttl);
    STRATA_RETURN_IF_ERROR(in_context(kb, free_unanswered()));
    const SteadyTime sent = clock_.steady();
    const auto taken = key.take();
    if (!taken) remember_unanswered(std::move(key));
    STRATA_RETURN_IF_ERROR(in_context(kb, taken));
    if (!*taken) return make_error(Code::kBusy, {}, "somebody else's value is in the key");
    auto lease = std::make_unique<RedisLease>(
        clock_, std::move(key), sent + options_.ttl,
        RedisLease::Account{acquisitions_, {kb, request.stream, request.purpose}});
    try {
      lease->start_renewing();
    } catch (const std::system_error& error) {
      return make_error(
          Code::kIo,
          fmt::format("The lock of knowledgebase '{}' could not be kept; try again in a moment.",
                      kb),
          error.what());
    }
    return lease;
  }

  template <typename T>
  static Result<void> in_context(const std::string& kb, const Result<T>& result) {
    if (result) return {};
    return make_error(Code::kIo,
                      fmt::format("The lock of knowledgebase '{}' could not be taken: {}.", kb,
                                  result.error().message),
                      result.error().detail);
  }

  void remember_unanswered(OwnedKey key) {
    const std::lock_guard lock(mutex_);
    unanswered_.push_back(std::move(key));
  }

  std::optional<OwnedKey> next_unanswered() {
    const std::lock_guard lock(mutex_);
    if (unanswered_.empty()) return std::nullopt;
    OwnedKey key = std::move(unanswered_.back());
    unanswered_.pop_back();
    return key;
  }

  Result<void> free_unanswered() {
    while (auto key = next_unanswered()) {
      auto released = key->release();
      if (released) continue;
      remember_unanswered(std::move(*key));
      return released;
    }
    return {};
  }

  RedisClient& redis_;
  const Clock& clock_;
  const RedisLockOptions options_;
  AcquisitionCounter& acquisitions_;
  std::mutex mutex_;
  /// Redis may have carried out, or still do, what it did not answer: nobody holds these. One per
  /// thread at most, since none is taken while there are any.
  std::vector<OwnedKey> unanswered_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<KbLock> make_redis_kb_lock(RedisClient& redis, const Clock& clock,
                                           RedisLockOptions options,
                                           AcquisitionCounter& acquisitions) {
  return std::make_unique<RedisKbLock>(redis, clock, std::move(options), acquisitions);
}

}  // namespace strata::lock
