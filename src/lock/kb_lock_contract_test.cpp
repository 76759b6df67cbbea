// What every kind of kb lock promises.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "io/posix_file_system.h"
#include "io/testing/expect.h"
#include "io/testing/temp_dir.h"
#include "lock/file_kb_lock.h"
#include "lock/kb_lock.h"
#include "lock/redis_kb_lock.h"
#include "lock/testing/redis_test.h"

namespace strata::lock {
namespace {

using Counts = std::map<AcquisitionCounter::Key, std::uint64_t>;
using std::chrono::milliseconds;

constexpr std::chrono::minutes kLong{1};

/// Locks of one kind over one root.
class World {
 public:
  virtual ~World() = default;
  /// Of a kb, as another process would have it. The kbs are `demo` and `other`.
  virtual std::unique_ptr<KbLock> make(const std::string& kb) = 0;
  /// Puts what keeps the locks out of reach.
  virtual void break_down() = 0;

  const SystemClock clock;
  AcquisitionCounter acquisitions;
};

class FileWorld final : public World {
 public:
  FileWorld() {
    for (const char* kb : {"demo", "other"}) std::filesystem::create_directory(path_of(kb));
  }
  std::unique_ptr<KbLock> make(const std::string& kb) override {
    folders_.push_back(fs_->open_directory(path_of(kb)).value());
    return make_file_kb_lock(*fs_, clock, *folders_.back(), acquisitions);
  }
  void break_down() override { std::filesystem::remove_all(path_of("demo")); }

 private:
  std::string path_of(const std::string& kb) const { return temp_dir_.path() + '/' + kb; }

  const io::TempDir temp_dir_;
  const std::unique_ptr<io::FileSystem> fs_ = io::make_posix_file_system();
  std::vector<std::unique_ptr<io::Directory>> folders_;
};

class RedisWorld final : public World {
 public:
  std::unique_ptr<KbLock> make(const std::string& kb) override {
    clients_.push_back(std::make_unique<RedisClient>(server_.address(), kPatient));
    return make_redis_kb_lock(*clients_.back(), clock, {.key_prefix = "strata:root:kb:" + kb},
                              acquisitions);
  }
  void break_down() override { server_.stop(); }

 private:
  RedisServer server_;
  std::vector<std::unique_ptr<RedisClient>> clients_;
};

class KbLockContract : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "file") {
      world_ = std::make_unique<FileWorld>();
      return;
    }
    STRATA_NEEDS_REDIS();
    world_ = std::make_unique<RedisWorld>();
  }

  std::unique_ptr<World> world_;
};

TEST_P(KbLockContract, OneHolderAtATimeAndOnlyAcquisitionsAreCounted) {
  const auto one = world_->make("demo");
  const auto two = world_->make("demo");
  ASSERT_OK_AND_ASSIGN(auto lease,
                       one->acquire({"demo", "weather", Purpose::kView, milliseconds(0)}));
  EXPECT_TRUE(lease->held());
  for (KbLock* lock : {one.get(), two.get()}) {
    for (const int wait_ms : {0, 50}) {
      const auto refused =
          lock->acquire({"demo", "weather", Purpose::kView, milliseconds(wait_ms)});
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Code::kBusy);
      EXPECT_EQ(refused.error().message,
                "Somebody else is changing knowledgebase 'demo'; try again in a moment.");
    }
  }
  EXPECT_TRUE(lease->held());
  lease.reset();
  EXPECT_OK(two->acquire({"demo", "", Purpose::kResync, milliseconds(0)}));
  EXPECT_EQ(world_->acquisitions.snapshot(), (Counts{{{"demo", "weather", Purpose::kView}, 1},
                                                     {{"demo", "", Purpose::kResync}, 1}}));
}

TEST_P(KbLockContract, WaitersAllGetItOneAfterTheOther) {
  const std::vector<std::unique_ptr<KbLock>> locks = [this] {
    std::vector<std::unique_ptr<KbLock>> made;
    made.push_back(world_->make("demo"));
    made.push_back(world_->make("demo"));
    return made;
  }();
  std::atomic<int> inside = 0;
  std::atomic<bool> overlapped = false;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 4; ++i) {
      threads.emplace_back([&lock = *locks[i % locks.size()], &inside, &overlapped] {
        for (int round = 0; round < 5; ++round) {
          const auto lease = lock.acquire({"demo", "s", Purpose::kView, kLong});
          EXPECT_OK(lease);
          if (inside.fetch_add(1) != 0) overlapped = true;
          std::this_thread::yield();
          inside.fetch_sub(1);
        }
      });
    }
  }
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(world_->acquisitions.snapshot(), (Counts{{{"demo", "s", Purpose::kView}, 20}}));
}

TEST_P(KbLockContract, KnowledgebasesDoNotHinderEachOther) {
  const auto demo = world_->make("demo");
  const auto other = world_->make("other");
  ASSERT_OK_AND_ASSIGN(const auto one, demo->acquire({.kb = "demo", .wait = milliseconds(0)}));
  ASSERT_OK_AND_ASSIGN(const auto two, other->acquire({.kb = "other", .wait = milliseconds(0)}));
  EXPECT_TRUE(one->held());
  EXPECT_TRUE(two->held());
}

TEST_P(KbLockContract, OutOfReachIsAnErrorAtOnceAndNotCounted) {
  const auto lock = world_->make("demo");
  world_->break_down();
  EXPECT_CODE(Code::kIo, lock->acquire({"demo", "s", Purpose::kView, std::chrono::hours(24)}));
  EXPECT_EQ(world_->acquisitions.snapshot(), Counts());
}

INSTANTIATE_TEST_SUITE_P(, KbLockContract, testing::Values("file", "redis"),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace strata::lock
