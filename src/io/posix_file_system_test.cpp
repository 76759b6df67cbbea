#include "io/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "io/testing/expect.h"
#include "io/testing/temp_dir.h"

namespace strata::io {
namespace {

class PosixFileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(root_, fs_->open_directory(temp_dir_.path())); }
  Entry at(std::string_view name) { return {*root_, name}; }

  TempDir temp_dir_;
  std::unique_ptr<FileSystem> fs_ = make_posix_file_system();
  std::unique_ptr<Directory> root_;
};

/// Runs `body` in a child and answers its exit code.
template <typename Body>
int in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// What a process of its own finds when it asks for the lock: 0 free, else the code + 1.
int lock_in_child(const std::string& folder) {
  return in_child([&] {
    const auto fs = make_posix_file_system();
    const auto root = fs->open_directory(folder);
    if (!root) return 200;
    const auto lock = fs->try_lock({**root, ".lock"});
    return lock ? 0 : static_cast<int>(lock.error().code) + 1;
  });
}

constexpr int kBusyInChild = static_cast<int>(Code::kBusy) + 1;

TEST_F(PosixFileSystemTest, ALockKeepsOutOtherDescriptorsAndOtherProcesses) {
  ASSERT_OK_AND_ASSIGN(auto lock, fs_->try_lock(at(".lock")));
  const auto other = make_posix_file_system();
  EXPECT_CODE(Code::kBusy, other->try_lock(at(".lock")));
  EXPECT_EQ(lock_in_child(temp_dir_.path()), kBusyInChild);
  // Closing another descriptor of the file frees nothing: that is what POSIX record locks do.
  EXPECT_OK(fs_->read(at(".lock"), 10));
  EXPECT_EQ(lock_in_child(temp_dir_.path()), kBusyInChild);
  lock.reset();
  EXPECT_EQ(lock_in_child(temp_dir_.path()), 0);
  EXPECT_OK(other->try_lock(at(".lock")));
}

TEST_F(PosixFileSystemTest, ALockDiesWithItsProcess) {
  int ready[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const auto lock = fs_->try_lock(at(".lock"));
    const char answer = lock ? 'y' : 'n';
    if (::write(ready[1], &answer, 1) == 1) ::pause();
    ::_exit(1);
  }
  char answer = 0;
  EXPECT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_CODE(Code::kBusy, fs_->try_lock(at(".lock")));
  ::kill(holder, SIGKILL);
  EXPECT_EQ(::waitpid(holder, nullptr, 0), holder);
  EXPECT_OK(fs_->try_lock(at(".lock")));
  ::close(ready[0]);
  ::close(ready[1]);
}

/// A take-over unlinks the lock file while it holds it. Whoever opened the file before that must
/// not come to hold a lock that the next one, on a new file of the name, does not see.
TEST_F(PosixFileSystemTest, TwoNeverHoldALockThoughItsFileIsUnlinkedMeanwhile) {
  std::atomic<int> holders = 0;
  std::atomic<int> together = 0;
  std::atomic<int> taken = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 1000; ++round) {
          const auto lock = fs_->try_lock(at(".lock"));
          if (!lock) continue;
          ++taken;
          if (++holders != 1) ++together;
          std::this_thread::yield();
          --holders;  // before the unlink: the next one may hold the new file after it
          ignore(fs_->unlink(at(".lock")), "it is there: we hold it");
        }
      });
    }
  }
  EXPECT_EQ(together, 0);
  EXPECT_GT(taken, 0);
}

TEST_F(PosixFileSystemTest, AFailedSyncOfADirectoryIsToldToWhoeverAsked) {
  int told = 0;
  const auto fs = make_posix_file_system({.on_failed_directory_sync = [&told] { ++told; }});
  EXPECT_OK(fs->sync_directory(*root_));
  EXPECT_EQ(told, 0);
  ASSERT_OK_AND_ASSIGN(const auto proc, fs->open_directory("/proc"));  // which knows no sync
  EXPECT_CODE(Code::kIo, fs->sync_directory(*proc));
  EXPECT_EQ(told, 1);
}

TEST_F(PosixFileSystemTest, APlantedFifoBlocksNobody) {
  ASSERT_EQ(::mkfifo((temp_dir_.path() + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(fs_->stat(at("fifo")).value().type, FileType::kOther);
  EXPECT_EQ(fs_->list(*root_).value().at(0).type, FileType::kOther);
  EXPECT_CODE(Code::kIo, fs_->read(at("fifo"), 10));
  EXPECT_CODE(Code::kIo, fs_->read_range(at("fifo"), 0, 1));
  EXPECT_CODE(Code::kIo, fs_->patch(at("fifo"), 0, "x"));
  EXPECT_CODE(Code::kIo, fs_->sync_file(at("fifo")));
  EXPECT_CODE(Code::kIo, fs_->try_lock(at("fifo")));
  EXPECT_CODE(Code::kIo, fs_->open_directory_at(at("fifo")));
}

TEST_F(PosixFileSystemTest, HandlesAreNotInheritedByNewPrograms) {
  ASSERT_OK_AND_ASSIGN(const auto lock, fs_->try_lock(at(".lock")));
  const std::unique_ptr<DIR, int (*)(DIR*)> own(::opendir("/proc/self/fd"), ::closedir);
  ASSERT_NE(own, nullptr);
  int ours = 0;
  while (const dirent* const entry = ::readdir(own.get())) {
    const std::string link = std::string("/proc/self/fd/") + entry->d_name;
    std::string target(4096, '\0');
    const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
    if (size < 0) continue;
    target.resize(static_cast<std::size_t>(size));
    if (!target.starts_with(temp_dir_.path())) continue;
    ++ours;
    EXPECT_TRUE(::fcntl(std::stoi(entry->d_name), F_GETFD) & FD_CLOEXEC) << target;
  }
  EXPECT_EQ(ours, 2);  // the root and the lock
}

/// Lets this process have no more open files than it has.
class NoMoreDescriptors {
 public:
  explicit NoMoreDescriptors(int highest) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit now{static_cast<rlim_t>(highest), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  ~NoMoreDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(PosixFileSystemTest, WithoutDescriptorsItIsBusyAndRecovers) {
  const Entry file = at("file");
  // UBSan needs a descriptor to look at an object's type, the first time it meets one at a place.
  EXPECT_OK(fs_->sync_directory(*root_));
  EXPECT_CODE(Code::kNotFound, fs_->stat(at("none")));
  {
    const NoMoreDescriptors none(3);
    EXPECT_CODE(Code::kBusy, fs_->write_new(file, "x"));
    EXPECT_CODE(Code::kBusy, fs_->list(*root_));
    EXPECT_CODE(Code::kBusy, fs_->open_directory(temp_dir_.path()));
    EXPECT_OK(fs_->sync_directory(*root_));  // the handle is held: a commit goes on
  }
  EXPECT_OK(fs_->write_new(file, "x"));
}

TEST_F(PosixFileSystemTest, AWriteThatFailsLeavesNoHalfFile) {
  const int failed_with = in_child([&] {
    // SIGXFSZ would end the child; ignored, the write answers EFBIG after 1,000 bytes.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto written = fs_->write_new(at("file"), std::string(5000, 'x'));
    return written ? 0 : static_cast<int>(written.error().code) + 1;
  });
  EXPECT_EQ(failed_with, static_cast<int>(Code::kIo) + 1);
  EXPECT_CODE(Code::kNotFound, fs_->stat(at("file")));
}

TEST_F(PosixFileSystemTest, AFullDiskSaysSoAndKeepsNoHalfFile) {
  constexpr int kCannotMount = 100;
  const int answer = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", temp_dir_.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
      return kCannotMount;
    }
    const auto small = fs_->open_directory(temp_dir_.path());
    const auto written = fs_->write_new({**small, "file"}, std::string(1'000'000, 'x'));
    if (written || written.error().code != Code::kDiskFull) return 1;
    if (fs_->stat({**small, "file"}).has_value()) return 2;
    const auto space = fs_->disk_space(**small);
    if (!space || space->free_bytes != 65'536 || space->total_bytes != 65'536) return 3;
    return fs_->write_new({**small, "file"}, "fits") ? 0 : 4;
  });
  if (answer == kCannotMount) GTEST_SKIP() << "skipped: this machine lets us mount no small tmpfs";
  EXPECT_EQ(answer, 0);
}

}  // namespace
}  // namespace strata::io
