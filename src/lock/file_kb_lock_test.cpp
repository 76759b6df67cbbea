#include "lock/file_kb_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "io/posix_file_system.h"

namespace strata::lock {
namespace {

class FileKbLockTest : public testing::Test {
 protected:
  FileKbLockTest() {
    std::filesystem::create_directory(path_);
    folder_ = fs_->open_directory(path_.string()).value();
  }
  ~FileKbLockTest() override { std::filesystem::remove_all(path_); }

  std::unique_ptr<KbLock> make() {
    return make_file_kb_lock(*fs_, clock_, *folder_, acquisitions_);
  }

  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("strata-lock-" + random_hex(8));
  const std::unique_ptr<io::FileSystem> fs_ = io::make_posix_file_system();
  const SystemClock clock_;
  std::unique_ptr<io::Directory> folder_;
  AcquisitionCounter acquisitions_;
};

TEST_F(FileKbLockTest, OneHolderAtATimeAndOnlyAcquisitionsAreCounted) {
  const auto one = make();
  const auto two = make();
  const LockRequest view{"demo", "weather", Purpose::kView, std::chrono::milliseconds(0)};
  auto lease = one->acquire(view);
  ASSERT_TRUE(lease) << lease.error().detail;
  EXPECT_TRUE((*lease)->held());
  for (KbLock* other : {one.get(), two.get()}) {
    const auto refused = other->acquire(view);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kBusy);
  }
  lease->reset();
  EXPECT_TRUE(two->acquire({"demo", "", Purpose::kResync, std::chrono::milliseconds(0)}));
  EXPECT_EQ(acquisitions_.snapshot(),
            (std::map<AcquisitionCounter::Key, std::uint64_t>{
                {{"demo", "weather", Purpose::kView}, 1}, {{"demo", "", Purpose::kResync}, 1}}));
}

TEST_F(FileKbLockTest, WaitersAllGetItOneAfterTheOther) {
  std::atomic<int> inside = 0;
  std::atomic<bool> overlapped = false;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const auto lock = make();
        for (int round = 0; round < 5; ++round) {
          const auto lease = lock->acquire({"demo", "s", Purpose::kView, std::chrono::minutes(1)});
          EXPECT_TRUE(lease);
          if (inside.fetch_add(1) != 0) overlapped = true;
          std::this_thread::yield();
          inside.fetch_sub(1);
        }
      });
    }
  }
  EXPECT_FALSE(overlapped);
  EXPECT_EQ(
      acquisitions_.snapshot(),
      (std::map<AcquisitionCounter::Key, std::uint64_t>{{{"demo", "s", Purpose::kView}, 20}}));
}

TEST_F(FileKbLockTest, AFolderOutOfReachIsAnErrorAtOnce) {
  std::filesystem::remove_all(path_);
  const auto lease = make()->acquire({"demo", "s", Purpose::kView, std::chrono::minutes(1)});
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, Code::kIo);
  EXPECT_TRUE(acquisitions_.snapshot().empty());
}

TEST(Purpose, NamesAreThoseOfTheMetric) {
  EXPECT_EQ(purpose_name(Purpose::kView), "view");
  EXPECT_EQ(purpose_name(Purpose::kOntology), "ontology");
  EXPECT_EQ(purpose_name(Purpose::kResync), "resync");
  EXPECT_EQ(purpose_name(Purpose::kRelocate), "relocate");
  EXPECT_EQ(purpose_name(Purpose::kUpload), "upload");
  EXPECT_EQ(purpose_name(Purpose::kDrop), "drop");
}

}  // namespace
}  // namespace strata::lock
