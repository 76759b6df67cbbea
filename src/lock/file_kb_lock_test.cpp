#include "lock/file_kb_lock.h"

#include <filesystem>

#include "io/posix_file_system.h"
#include "io/testing/expect.h"
#include "io/testing/temp_dir.h"

namespace strata::lock {
namespace {

TEST(FileKbLockTest, TheMessageNamesTheDisk) {
  const io::TempDir temp_dir;
  const std::string path = temp_dir.path() + "/kb";
  std::filesystem::create_directory(path);
  const auto fs = io::make_posix_file_system();
  ASSERT_OK_AND_ASSIGN(const auto folder, fs->open_directory(path));
  const SystemClock clock;
  AcquisitionCounter acquisitions;
  const auto lock = make_file_kb_lock(*fs, clock, *folder, acquisitions);
  std::filesystem::remove_all(path);
  const auto lease = lock->acquire({.kb = "demo"});
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().message,
            "The lock of knowledgebase 'demo' could not be taken; look at the disk that holds it.");
}

}  // namespace
}  // namespace strata::lock
