// What only the Redis lock promises; what both kinds do is in kb_lock_contract_test.cpp.
#include "lock/redis_kb_lock.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "io/testing/expect.h"
#include "lock/testing/redis_test.h"

namespace strata::lock {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kPrefix = "strata:root:kb:demo";
constexpr std::string_view kKey = "strata:root:kb:demo:lock";
constexpr milliseconds kEndless = std::chrono::hours(24);

/// Asks every few milliseconds, a minute at most.
bool wait_until(const std::function<bool()>& condition) {
  constexpr milliseconds kTick{5};
  const SteadyTime give_up = SystemClock().steady() + std::chrono::minutes(1);
  while (!condition()) {
    if (SystemClock().steady() >= give_up) return false;
    std::this_thread::sleep_for(kTick);
  }
  return true;
}

class RedisKbLockTest : public testing::Test {
 protected:
  void SetUp() override {
    STRATA_NEEDS_REDIS();
    server_.emplace();
    admin_.emplace(server_->address(), kPatient);
  }

  /// As another process has it.
  std::unique_ptr<KbLock> make(const Clock& clock, milliseconds ttl,
                               RedisTimeouts timeouts = kPatient) {
    clients_.push_back(std::make_unique<RedisClient>(server_->address(), timeouts));
    return make_redis_kb_lock(*clients_.back(), clock,
                              {.key_prefix = std::string(kPrefix), .ttl = ttl}, acquisitions_);
  }

  RedisReply ask(RedisCommand command) {
    auto reply = admin_->command(command);
    EXPECT_OK(reply);
    return reply.value_or(RedisReply{});
  }
  bool text_contains(RedisCommand command, std::string_view part) {
    return ask(command).text.value_or("").contains(part);
  }
  /// Until Redis has a command before it that it was told to keep waiting.
  bool wait_for_held_up_command() {
    return wait_until([this] { return text_contains({"CLIENT", "LIST"}, "flags=b "); });
  }
  bool key_exists() { return ask({"EXISTS", kKey}) == RedisReply{.number = 1}; }

  std::optional<RedisServer> server_;
  std::optional<RedisClient> admin_;
  std::vector<std::unique_ptr<RedisClient>> clients_;
  const SystemClock clock_;
  FakeClock fake_clock_{SystemClock().wall()};
  int lost_ = 0;
  AcquisitionCounter acquisitions_{[this](const AcquisitionCounter::Key& key) {
    EXPECT_EQ(key.kb, "demo");
    ++lost_;
  }};
};

constexpr LockRequest now() { return {.kb = "demo", .wait = milliseconds(0)}; }
constexpr LockRequest patient() { return {.kb = "demo", .wait = std::chrono::minutes(1)}; }

TEST_F(RedisKbLockTest, TheKeyHoldsAnOwnerOfItsOwnForTheTtl) {
  clients_.push_back(std::make_unique<RedisClient>(server_->address(), kPatient));
  const auto lock = make_redis_kb_lock(*clients_.back(), clock_,
                                       {.key_prefix = std::string(kPrefix)}, acquisitions_);
  std::array<RedisReply, 2> owners;
  for (RedisReply& owner : owners) {
    ASSERT_OK_AND_ASSIGN(const auto lease, lock->acquire(now()));
    owner = ask({"GET", kKey});
    EXPECT_EQ(owner.text.value_or("").size(), 32U);
    const auto left_ms = ask({"PTTL", kKey}).number.value_or(0);
    EXPECT_GT(left_ms, 0);
    EXPECT_LE(left_ms, 65'000);
  }
  EXPECT_FALSE(key_exists());
  EXPECT_NE(owners[0], owners[1]);
  EXPECT_EQ(lost_, 0);
}

TEST_F(RedisKbLockTest, ALeaseIsHeldUntilItsDeadlineAndThenNotRenewed) {
  const auto endless = make(fake_clock_, kEndless);
  {
    ASSERT_OK_AND_ASSIGN(const auto lease, endless->acquire(now()));
    fake_clock_.advance(kEndless - milliseconds(1));
    EXPECT_TRUE(lease->held());
    fake_clock_.advance(milliseconds(1));
    EXPECT_FALSE(lease->held());
    EXPECT_EQ(lost_, 0);
  }
  EXPECT_FALSE(key_exists());
  EXPECT_EQ(lost_, 1);

  constexpr milliseconds kTtl{300};
  ASSERT_OK_AND_ASSIGN(const auto lease, make(fake_clock_, kTtl)->acquire(now()));
  fake_clock_.advance(kTtl);
  EXPECT_TRUE(wait_until([this] { return !key_exists(); }));
  EXPECT_FALSE(lease->held());
}

TEST_F(RedisKbLockTest, TheDeadlineCountsFromBeforeTheCall) {
  const auto lock = make(fake_clock_, kEndless);
  ask({"CLIENT", "PAUSE", "60000", "WRITE"});
  auto lease = std::async(std::launch::async, [&lock] { return lock->acquire(now()); });
  EXPECT_TRUE(wait_for_held_up_command());
  fake_clock_.advance(kEndless - milliseconds(1));
  ask({"CLIENT", "UNPAUSE"});
  ASSERT_OK_AND_ASSIGN(const auto taken, lease.get());
  EXPECT_TRUE(taken->held());
  fake_clock_.advance(milliseconds(1));
  EXPECT_FALSE(taken->held());
}

class RedisHeldUpRenewalTest : public RedisKbLockTest {
 protected:
  /// Takes a lease at 0 of the fake clock, has a renewal sent at 500 and answered at `answered`.
  void take_lease(milliseconds answered) {
    auto lease = make(fake_clock_, kTtl)->acquire(now());
    ASSERT_OK(lease);
    lease_ = std::move(lease).value();
    fake_clock_.advance(kSent);
    ask({"CLIENT", "PAUSE", "60000", "WRITE"});
    EXPECT_TRUE(wait_for_held_up_command());
    fake_clock_.advance(answered - kSent);
    held_before_answer_ = lease_->held();
    ask({"CLIENT", "UNPAUSE"});
    EXPECT_TRUE(wait_until([this] { return !text_contains({"CLIENT", "LIST"}, "flags=b "); }));
  }

  static constexpr milliseconds kTtl{3'000};
  static constexpr milliseconds kSent{500};
  bool held_before_answer_ = false;
  std::unique_ptr<Lease> lease_;
};

TEST_F(RedisHeldUpRenewalTest, TheNewDeadlineCountsFromBeforeTheCall) {
  constexpr milliseconds kAnswered{1'500};
  take_lease(kAnswered);
  EXPECT_TRUE(held_before_answer_);
  fake_clock_.advance(kSent + kTtl - kAnswered);
  EXPECT_FALSE(lease_->held());
}

TEST_F(RedisHeldUpRenewalTest, AnAnswerAfterTheDeadlineBringsNothingBack) {
  take_lease(kTtl);
  EXPECT_FALSE(held_before_answer_);
  // The thread ends with that answer, and Redis drops the key.
  EXPECT_TRUE(wait_until([this] { return !key_exists(); }));
  EXPECT_FALSE(lease_->held());
}

class RedisRenewalTest : public RedisKbLockTest {
 protected:
  /// Whether a lease of this TTL is still held when twice the TTL has passed after `meanwhile`.
  bool outlives_its_ttl(milliseconds ttl, const std::function<void()>& meanwhile) {
    const auto other = make(clock_, kEndless);
    const auto lease = make(clock_, ttl)->acquire(patient());
    EXPECT_OK(lease);
    meanwhile();
    const SteadyTime end = clock_.steady() + 2 * ttl;
    EXPECT_TRUE(wait_until([this, end] { return clock_.steady() >= end; }));
    const auto refused = other->acquire(now());
    // Asked last: what is held now was held all the time.
    if (!lease.value()->held()) return false;
    EXPECT_CODE(Code::kBusy, refused);
    return true;
  }
};

TEST_F(RedisRenewalTest, KeepsTheLeaseLongerThanItsTtl) {
  const std::string& password = server_->address().password;
  const struct {
    const char* name;
    std::function<void()> meanwhile;
  } cases[] = {
      {"nothing else happens", [] {}},
      {"its connection is closed",
       [this] { ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}); }},
      {"it is refused for a while",
       [this, &password] {
         ask({"CONFIG", "RESETSTAT"});
         ask({"CONFIG", "SET", "requirepass", "another"});
         ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
         EXPECT_TRUE(
             wait_until([this] { return text_contains({"INFO", "errorstats"}, "WRONGPASS"); }));
         ask({"CONFIG", "SET", "requirepass", password});
       }},
  };
  for (const auto& [name, meanwhile] : cases) {
    SCOPED_TRACE(name);
    // A machine that stands still for a TTL may lose it; not every time, as the TTL grows.
    bool kept = false;
    for (milliseconds ttl{300}; !kept && ttl < std::chrono::seconds(20); ttl *= 2) {
      kept = outlives_its_ttl(ttl, meanwhile);
    }
    EXPECT_TRUE(kept);
  }
}

/// A process that takes the lock and then does what single letters tell it: it can be paused as a
/// whole, its renewals too. Made before this process has threads.
class Holder {
 public:
  Holder(const RedisAddress& address, milliseconds ttl) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    socket_.reset(ends[0]);
    UniqueFd theirs(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      socket_.reset();
      hold(theirs.get(), address, ttl);
      ::_exit(0);
    }
  }
  ~Holder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  void pause() const { EXPECT_EQ(::kill(pid_, SIGSTOP), 0); }
  void resume() const { EXPECT_EQ(::kill(pid_, SIGCONT), 0); }
  /// `h`: held? y or n. `r`: release; then r.
  char tell(char order) const {
    EXPECT_EQ(::write(socket_.get(), &order, 1), 1);
    return read_answer();
  }
  /// The first is `a`: acquired.
  char read_answer() const {
    char answer = 0;
    EXPECT_EQ(::read(socket_.get(), &answer, 1), 1);
    return answer;
  }

 private:
  static void hold(int socket, const RedisAddress& address, milliseconds ttl) {
    const SystemClock clock;
    AcquisitionCounter acquisitions;
    RedisClient client(address, kPatient);
    const auto lock = make_redis_kb_lock(
        client, clock, {.key_prefix = std::string(kPrefix), .ttl = ttl}, acquisitions);
    auto lease = lock->acquire(patient());
    char answer = lease ? 'a' : 'e';
    while (::write(socket, &answer, 1) == 1 && lease) {
      char order = 0;
      if (::read(socket, &order, 1) != 1) return;
      answer = order;
      if (order == 'h') answer = (*lease)->held() ? 'y' : 'n';
      if (order == 'r') lease->reset();
    }
  }

  UniqueFd socket_;
  pid_t pid_ = -1;
};

TEST_F(RedisKbLockTest, AHolderPausedPastItsTtlHasLostItAndItsLateReleaseHarmsNobody) {
  const Holder holder(server_->address(), milliseconds(300));
  ASSERT_EQ(holder.read_answer(), 'a');
  holder.pause();
  ASSERT_OK_AND_ASSIGN(const auto lease, make(clock_, kEndless)->acquire(patient()));
  const RedisReply owner = ask({"GET", kKey});
  holder.resume();
  EXPECT_EQ(holder.tell('h'), 'n');
  EXPECT_EQ(holder.tell('r'), 'r');
  EXPECT_EQ(ask({"GET", kKey}), owner);
  EXPECT_TRUE(lease->held());
}

TEST_F(RedisKbLockTest, WhatRedisForgotIsLostAtTheNextRenewal) {
  // The clock stands still: only a renewal's answer can end the lease.
  const auto first = make(fake_clock_, milliseconds(300));
  ASSERT_OK_AND_ASSIGN(auto lease, first->acquire(now()));
  server_->stop();
  server_->start();
  EXPECT_TRUE(wait_until([&lease] { return !lease->held(); }));
  EXPECT_FALSE(key_exists());

  ASSERT_OK_AND_ASSIGN(auto next, make(clock_, kEndless)->acquire(now()));
  const RedisReply owner = ask({"GET", kKey});
  lease.reset();
  EXPECT_EQ(ask({"GET", kKey}), owner);
  next.reset();
  EXPECT_FALSE(key_exists());
}

TEST_F(RedisKbLockTest, WhatSomebodyElseHasIsLostAtTheNextRenewal) {
  ASSERT_OK_AND_ASSIGN(auto lease, make(fake_clock_, milliseconds(300))->acquire(now()));
  ask({"SET", kKey, "somebody", "PX", "1000000"});
  EXPECT_TRUE(wait_until([&lease] { return !lease->held(); }));
  lease.reset();
  EXPECT_EQ(ask({"GET", kKey}), (RedisReply{.text = "somebody"}));
  const auto left_ms = ask({"PTTL", kKey}).number.value_or(0);
  EXPECT_GT(left_ms, 300);
}

TEST_F(RedisKbLockTest, StoppedItIsAnErrorAndBackItWorks) {
  const auto lock = make(clock_, kEndless);
  ASSERT_OK(lock->acquire(now()));
  server_->stop();
  const auto refused = lock->acquire({.kb = "demo", .wait = kEndless});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kIo);
  EXPECT_EQ(refused.error().message,
            "The lock of knowledgebase 'demo' could not be taken: Redis does not answer: see that "
            "it runs and that this node reaches it.");
  server_->start();
  EXPECT_OK(lock->acquire(now()));
}

/// An unanswered SET that Redis carries out later would keep everybody out for a TTL.
TEST_F(RedisKbLockTest, AnUnansweredAcquisitionLeavesNoKey) {
  constexpr milliseconds kShort{1'000};
  const auto lock = make(clock_, kEndless, {.connect = kShort, .command = kShort});
  const auto can_acquire = [&lock] { return lock->acquire(now()).has_value(); };
  ASSERT_TRUE(wait_until(can_acquire));
  server_->pause();
  EXPECT_CODE(Code::kIo, lock->acquire({.kb = "demo", .wait = kEndless}));
  server_->resume();
  EXPECT_TRUE(wait_until([this] { return key_exists(); }));
  EXPECT_TRUE(wait_until(can_acquire));
  EXPECT_FALSE(key_exists());
}

TEST_F(RedisKbLockTest, ALeaseMayGoWhileRedisIsAway) {
  ASSERT_OK_AND_ASSIGN(auto lease, make(clock_, kEndless)->acquire(now()));
  server_->stop();
  EXPECT_TRUE(lease->held());
  lease.reset();
}

TEST_F(RedisKbLockTest, AWrongPasswordIsNamed) {
  RedisAddress address = server_->address();
  address.password = "wrong";
  RedisClient client(address, kPatient);
  const auto lock =
      make_redis_kb_lock(client, clock_, {.key_prefix = std::string(kPrefix)}, acquisitions_);
  const auto refused = lock->acquire({.kb = "demo", .wait = kEndless});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kIo);
  EXPECT_EQ(refused.error().message,
            "The lock of knowledgebase 'demo' could not be taken: Redis does not let this node in: "
            "set user and password in its Redis URL right.");
}

}  // namespace
}  // namespace strata::lock
