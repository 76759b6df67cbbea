#include "io/directory_syncs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include "io/testing/expect.h"
#include "io/testing/faulty_file_system.h"
#include "io/testing/mem_file_system.h"

namespace strata::io {
namespace {

class DirectorySyncsTest : public testing::Test {
 protected:
  struct Folder {
    std::unique_ptr<Directory> directory;
    FileId id;
  };
  Folder folder(const std::string& name) {
    auto root = disk.open_directory("/").value();
    ignore(disk.make_directory({*root, name}), "it may be there");
    auto directory = disk.open_directory_at({*root, name}).value();
    const FileId id = disk.stat_handle(*directory).value().id;
    return {std::move(directory), id};
  }
  std::uint64_t calls() const { return fs.calls(Operation::kSyncDirectory); }

  /// One caller's sync is held until `others` have called, or are about to; the answers of all.
  std::vector<Result<void>> meet(const Folder& data, unsigned others) {
    std::latch first_runs(1);
    std::latch all_called(others);
    std::atomic<bool> first = true;
    fs.set_observer([&](const FileCall& call) {
      if (call.operation != Operation::kSyncDirectory || !first.exchange(false)) return;
      first_runs.count_down();
      all_called.wait();
      // About to call is not called yet; who comes too late does not hurt.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    std::vector<Result<void>> answers(others + 1);
    std::vector<std::jthread> threads;
    threads.emplace_back([&] { answers[0] = syncs.sync(*data.directory, data.id); });
    first_runs.wait();
    for (unsigned n = 1; n <= others; ++n) {
      threads.emplace_back([&, n] {
        all_called.count_down();
        answers[n] = syncs.sync(*data.directory, data.id);
      });
    }
    threads.clear();
    fs.set_observer({});
    return answers;
  }

  MemFileSystem disk;
  FaultyFileSystem fs{disk};
  DirectorySyncs syncs{fs};
};

TEST_F(DirectorySyncsTest, OneThatRunsAlreadyCountsForNobodyWhoComesLater) {
  const Folder data = folder("data");
  for (const Result<void>& answer : meet(data, 1)) EXPECT_OK(answer);
  EXPECT_EQ(calls(), 2U);
}

TEST_F(DirectorySyncsTest, ThoseThatWaitShareOne) {
  const Folder data = folder("data");
  constexpr unsigned kOthers = 8;
  // A round in which one comes too late has three syncs, or more; that all meet is enough once.
  constexpr int kRounds = 200;
  bool shared = false;
  for (int round = 0; round < kRounds && !shared; ++round) {
    fs.reset_counts();
    for (const Result<void>& answer : meet(data, kOthers)) EXPECT_OK(answer);
    shared = calls() == 2;
  }
  EXPECT_TRUE(shared);
}

TEST_F(DirectorySyncsTest, AnErrorIsTheAnswerToEverybodyFromThenOn) {
  const Folder data = folder("data");
  const Folder ids = folder("ids");
  fs.fail_if([](const FileCall& call) { return call.operation == Operation::kSyncDirectory; },
             Effect::kFailBefore);
  for (const Result<void>& answer : meet(data, 3)) EXPECT_CODE(Code::kIo, answer);
  EXPECT_EQ(calls(), 1U);
  fs.heal();
  EXPECT_CODE(Code::kIo, syncs.sync(*data.directory, data.id));
  const Folder again = folder("data");
  EXPECT_CODE(Code::kIo, syncs.sync(*again.directory, again.id));
  EXPECT_OK(syncs.sync(*ids.directory, ids.id));
}

}  // namespace
}  // namespace strata::io
