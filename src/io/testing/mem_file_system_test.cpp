#include "io/testing/mem_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "io/testing/expect.h"

namespace strata::io {
namespace {

using Keep = MemFileSystem::Keep;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

constexpr std::uint64_t kSeeds = 200;

/// What these tests promise of a disk after a power cut, told as `name=content` lines, sorted.
std::vector<std::string> tell(MemFileSystem& mem, const std::string& path = "/") {
  std::vector<std::string> lines;
  const auto folder = mem.open_directory(path);
  if (!folder) return {"no " + path};
  const std::vector<DirEntry> entries = mem.list(**folder).value();
  for (const DirEntry& entry : entries) {
    const std::string name = (path == "/" ? "" : path) + "/" + entry.name;
    if (entry.type == FileType::kDirectory) {
      const std::vector<std::string> below = tell(mem, name);
      lines.push_back(name);
      lines.insert(lines.end(), below.begin(), below.end());
    } else {
      lines.push_back(name + "=" + mem.read({**folder, entry.name}, 100).value_or("?"));
    }
  }
  return lines;
}

std::vector<std::string> after_crash(const MemFileSystem& mem, Keep keep, std::uint64_t seed = 0) {
  const auto crashed = mem.clone();
  crashed->crash(keep, seed);
  return tell(*crashed);
}

/// Every state that a power cut with kSome leaves.
std::set<std::vector<std::string>> all_states(const MemFileSystem& mem) {
  std::set<std::vector<std::string>> states;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    states.insert(after_crash(mem, Keep::kSome, seed));
  }
  return states;
}

class MemFileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override { open(); }
  void open() {
    ASSERT_OK_AND_ASSIGN(root_, mem_.open_directory("/"));
    ASSERT_OK_AND_ASSIGN(a_, mem_.make_path("/a"));
    ASSERT_OK_AND_ASSIGN(b_, mem_.make_path("/b"));
  }
  Entry in_a(std::string_view name) { return {*a_, name}; }
  Entry in_b(std::string_view name) { return {*b_, name}; }
  void write_durable(Entry file, std::string_view bytes) {
    ASSERT_OK(mem_.write_new(file, bytes));
    ASSERT_OK(mem_.sync_file(file));
    ASSERT_OK(mem_.sync_directory(file.directory));
  }

  MemFileSystem mem_;
  std::unique_ptr<Directory> root_, a_, b_;
};

TEST_F(MemFileSystemTest, WhatWasNeverSyncedIsLost) {
  ASSERT_OK(mem_.write_new(in_a("neither"), "1"));
  EXPECT_THAT(after_crash(mem_, Keep::kNothing), ElementsAre("/a", "/b"));
  EXPECT_THAT(after_crash(mem_, Keep::kEverything), ElementsAre("/a", "/a/neither=1", "/b"));
}

TEST_F(MemFileSystemTest, ASyncedFileWithoutASyncedNameIsLost) {
  ASSERT_OK(mem_.write_new(in_a("file"), "1"));
  ASSERT_OK(mem_.sync_file(in_a("file")));
  EXPECT_THAT(after_crash(mem_, Keep::kNothing), ElementsAre("/a", "/b"));
}

TEST_F(MemFileSystemTest, ASyncedNameOfAnUnsyncedFileLeadsToNoBytes) {
  ASSERT_OK(mem_.write_new(in_a("file"), "123"));
  ASSERT_OK(mem_.sync_directory(*a_));
  EXPECT_THAT(after_crash(mem_, Keep::kNothing), ElementsAre("/a", "/a/file=", "/b"));
  EXPECT_THAT(all_states(mem_),
              IsSupersetOf({std::vector<std::string>{"/a", "/a/file=", "/b"},
                            std::vector<std::string>{"/a", "/a/file=12", "/b"},
                            std::vector<std::string>{"/a", "/a/file=123", "/b"}}));
}

TEST_F(MemFileSystemTest, WhatWasSyncedStaysInEveryVariant) {
  write_durable(in_a("file"), "123");
  EXPECT_THAT(all_states(mem_), ElementsAre(ElementsAre("/a", "/a/file=123", "/b")));
  EXPECT_THAT(after_crash(mem_, Keep::kNothing), ElementsAre("/a", "/a/file=123", "/b"));
}

TEST_F(MemFileSystemTest, AnUnsyncedPatchIsOldNewOrTorn) {
  write_durable(in_a("file"), "old");
  ASSERT_OK(mem_.patch(in_a("file"), 0, "NEW"));
  EXPECT_THAT(after_crash(mem_, Keep::kNothing), ElementsAre("/a", "/a/file=old", "/b"));
  std::set<std::string> contents;
  for (const auto& state : all_states(mem_)) contents.insert(state.at(1));
  EXPECT_THAT(contents, ElementsAre("/a/file=NEW", "/a/file=NEd", "/a/file=Nld", "/a/file=old"));
  ASSERT_OK(mem_.sync_file(in_a("file")));
  EXPECT_THAT(after_crash(mem_, Keep::kNothing), ElementsAre("/a", "/a/file=NEW", "/b"));
}

TEST_F(MemFileSystemTest, AnUnsyncedModeIsLost) {
  write_durable(in_a("file"), "x");
  ASSERT_OK(mem_.set_mode(in_a("file"), 0444));
  mem_.crash(Keep::kNothing);
  open();
  EXPECT_EQ(mem_.stat(in_a("file")).value().mode, 0640U);
}

TEST_F(MemFileSystemTest, AnUnsyncedUnlinkComesBack) {
  write_durable(in_a("file"), "1");
  ASSERT_OK(mem_.unlink(in_a("file")));
  EXPECT_THAT(after_crash(mem_, Keep::kNothing), ElementsAre("/a", "/a/file=1", "/b"));
  ASSERT_OK(mem_.sync_directory(*a_));
  EXPECT_THAT(after_crash(mem_, Keep::kNothing), ElementsAre("/a", "/b"));
}

TEST_F(MemFileSystemTest, AnUnsyncedFolderIsLostWithWhatIsInIt) {
  ASSERT_OK(mem_.make_directory(in_a("folder")));
  ASSERT_OK_AND_ASSIGN(const auto folder, mem_.open_directory_at(in_a("folder")));
  write_durable({*folder, "file"}, "1");
  EXPECT_THAT(after_crash(mem_, Keep::kNothing), ElementsAre("/a", "/b"));
  ASSERT_OK(mem_.sync_directory(*a_));
  EXPECT_THAT(after_crash(mem_, Keep::kNothing),
              ElementsAre("/a", "/a/folder", "/a/folder/file=1", "/b"));
}

TEST_F(MemFileSystemTest, ARenameIsAtomicUntilItIsSynced) {
  write_durable(in_a("file"), "1");
  ASSERT_OK(mem_.rename_no_replace(in_a("file"), in_b("file")));
  EXPECT_THAT(all_states(mem_), ElementsAre(ElementsAre("/a", "/a/file=1", "/b"),
                                            ElementsAre("/a", "/b", "/b/file=1")));
  EXPECT_THAT(after_crash(mem_, Keep::kNothing), ElementsAre("/a", "/a/file=1", "/b"));
}

TEST_F(MemFileSystemTest, ARenameIsDurableWhereItWasSynced) {
  write_durable(in_a("file"), "1");
  ASSERT_OK(mem_.rename_no_replace(in_a("file"), in_b("file")));
  ASSERT_OK(mem_.sync_directory(*b_));
  // The old name may come back as well: a leftover, which recovery has to expect.
  EXPECT_THAT(all_states(mem_), ElementsAre(ElementsAre("/a", "/a/file=1", "/b", "/b/file=1"),
                                            ElementsAre("/a", "/b", "/b/file=1")));
  mem_.crash(Keep::kNothing);
  open();
  EXPECT_EQ(mem_.stat(in_a("file")).value().links, 2U);
}

TEST_F(MemFileSystemTest, AReplacedFileIsOldOrNew) {
  write_durable(in_a("file"), "new");
  write_durable(in_b("file"), "old");
  ASSERT_OK(mem_.rename_replace(in_a("file"), in_b("file")));
  EXPECT_THAT(all_states(mem_), ElementsAre(ElementsAre("/a", "/a/file=new", "/b", "/b/file=old"),
                                            ElementsAre("/a", "/b", "/b/file=new")));
}

TEST_F(MemFileSystemTest, AnExchangeOfFoldersHappensWholeOrNot) {
  ASSERT_OK(mem_.write_new(in_a("file"), "1"));
  ASSERT_OK(mem_.sync_file(in_a("file")));
  ASSERT_OK(mem_.sync_directory(*a_));
  ASSERT_OK(mem_.rename_exchange({*root_, "a"}, {*root_, "b"}));
  EXPECT_THAT(all_states(mem_), ElementsAre(ElementsAre("/a", "/a/file=1", "/b"),
                                            ElementsAre("/a", "/b", "/b/file=1")));
}

TEST_F(MemFileSystemTest, AFolderMovedHalfDurablyHasOneName) {
  ASSERT_OK(mem_.make_directory(in_a("folder")));
  ASSERT_OK(mem_.sync_directory(*a_));
  ASSERT_OK(mem_.rename_no_replace(in_a("folder"), in_b("folder")));
  ASSERT_OK(mem_.sync_directory(*b_));
  EXPECT_THAT(all_states(mem_), ElementsAre(ElementsAre("/a", "/b", "/b/folder")));
  EXPECT_THAT(after_crash(mem_, Keep::kNothing), ElementsAre("/a", "/b", "/b/folder"));
}

TEST_F(MemFileSystemTest, AClaimKeepsItsFileWhenTheOtherNameIsLost) {
  ASSERT_OK(mem_.write_new(in_a("staged"), "1"));
  ASSERT_OK(mem_.sync_file(in_a("staged")));
  ASSERT_OK(mem_.link(in_a("staged"), in_b("claim")));
  ASSERT_OK(mem_.sync_directory(*b_));
  EXPECT_THAT(after_crash(mem_, Keep::kNothing), ElementsAre("/a", "/b", "/b/claim=1"));
}

TEST_F(MemFileSystemTest, OneSeedIsOneState) {
  for (int i = 0; i < 10; ++i) ASSERT_OK(mem_.write_new(in_a(std::to_string(i)), "bytes"));
  EXPECT_EQ(after_crash(mem_, Keep::kSome, 7), after_crash(mem_, Keep::kSome, 7));
  EXPECT_GT(all_states(mem_).size(), 100U);
}

TEST_F(MemFileSystemTest, WhatSurvivedACrashIsDurable) {
  ASSERT_OK(mem_.write_new(in_a("file"), "1"));
  mem_.crash(Keep::kEverything);
  mem_.crash(Keep::kNothing);
  EXPECT_THAT(tell(mem_), ElementsAre("/a", "/a/file=1", "/b"));
}

TEST_F(MemFileSystemTest, ACrashEndsLocksAndHandles) {
  ASSERT_OK_AND_ASSIGN(auto before, mem_.try_lock(in_a(".lock")));
  const FileId id = mem_.stat(in_a(".lock")).value().id;
  mem_.crash(Keep::kEverything);
  EXPECT_CODE(Code::kIo, mem_.list(*a_));
  EXPECT_CODE(Code::kIo, mem_.write_new(in_a("file"), "x"));
  EXPECT_CODE(Code::kIo, mem_.sync_directory(*a_));
  open();
  EXPECT_EQ(mem_.stat(in_a(".lock")).value().id, id);
  ASSERT_OK_AND_ASSIGN(const auto after, mem_.try_lock(in_a(".lock")));
  before.reset();  // of a process that is gone: it frees nothing
  EXPECT_CODE(Code::kBusy, mem_.try_lock(in_a(".lock")));
}

TEST_F(MemFileSystemTest, ACloneIsTheSameDiskAndGoesItsOwnWay) {
  ASSERT_OK(mem_.write_new(in_a("file"), "1"));
  ASSERT_OK_AND_ASSIGN(const auto lock, mem_.try_lock(in_a("file")));
  const auto copy = mem_.clone();
  ASSERT_OK_AND_ASSIGN(const auto a, copy->open_directory("/a"));
  EXPECT_OK(copy->try_lock({*a, "file"}));
  ASSERT_OK(copy->unlink({*a, "file"}));
  EXPECT_THAT(tell(mem_), ElementsAre("/a", "/a/file=1", "/b"));
  EXPECT_THAT(tell(*copy), ElementsAre("/a", "/b"));
}

TEST_F(MemFileSystemTest, ADiskCanBeFull) {
  mem_.set_free_bytes(3);
  EXPECT_EQ(mem_.disk_space(*a_).value().free_bytes, 3U);
  EXPECT_CODE(Code::kDiskFull, mem_.write_new(in_a("file"), "1234"));
  EXPECT_OK(mem_.write_new(in_a("file"), "123"));
}

TEST(MemFileSystemClock, TimesOfFilesAreTheClocks) {
  FakeClock clock(WallTime{} + std::chrono::seconds(5));
  MemFileSystem mem(&clock);
  ASSERT_OK_AND_ASSIGN(const auto root, mem.open_directory("/"));
  ASSERT_OK(mem.write_new({*root, "file"}, "x"));
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(mem.stat({*root, "file"}).value().modified_ns, 5'000'000'000);
  ASSERT_OK(mem.patch({*root, "file"}, 0, "y"));
  EXPECT_EQ(mem.stat({*root, "file"}).value().modified_ns, 6'000'000'000);
}

}  // namespace
}  // namespace strata::io
