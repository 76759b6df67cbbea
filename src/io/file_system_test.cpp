#include "io/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "io/posix_file_system.h"
#include "io/testing/expect.h"
#include "io/testing/mem_file_system.h"
#include "io/testing/temp_dir.h"

namespace strata::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// One file system under test and a folder of its own on it.
struct Disk {
  std::unique_ptr<TempDir> temp_dir;  // of the real disk only
  std::unique_ptr<FileSystem> fs;
  std::string root_path;
};

struct Kind {
  std::string name;
  bool rename_flags = true;
  Disk (*make)();
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

Disk make_posix(const PosixOptions& options) {
  Disk disk;
  disk.temp_dir = std::make_unique<TempDir>();
  disk.fs = make_posix_file_system(options);
  disk.root_path = disk.temp_dir->path();
  return disk;
}

Disk make_mem() {
  Disk disk;
  auto mem = std::make_unique<MemFileSystem>();
  disk.root_path = "/srv/root";
  EXPECT_OK(mem->make_path(disk.root_path));
  disk.fs = std::move(mem);
  return disk;
}

/// Every kind has to answer every call alike, so that what is tested on one holds on the others.
class EveryFileSystem : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    ::umask(0027);  // the modes below are what the server makes
    ASSERT_OK_AND_ASSIGN(root_, fs().open_directory(disk_.root_path));
    for (const std::string_view name : {"a", "b"}) ASSERT_OK(fs().make_directory(at(name)));
    ASSERT_OK_AND_ASSIGN(a_, fs().open_directory_at(at("a")));
    ASSERT_OK_AND_ASSIGN(b_, fs().open_directory_at(at("b")));
  }

  FileSystem& fs() { return *disk_.fs; }
  Entry at(std::string_view name) { return {*root_, name}; }
  Entry in_a(std::string_view name) { return {*a_, name}; }
  Entry in_b(std::string_view name) { return {*b_, name}; }
  void write(Entry file, std::string_view bytes) { ASSERT_OK(fs().write_new(file, bytes)); }
  /// The content, or the code's name in brackets.
  std::string content(Entry file) {
    const auto bytes = fs().read(file, 1000);
    return bytes ? *bytes : "[" + std::string(code_name(bytes.error().code)) + "]";
  }
  std::vector<std::string> names(const Directory& directory) {
    std::vector<std::string> sorted;
    const auto entries = fs().list(directory);
    EXPECT_OK(entries);
    if (entries) {
      for (const DirEntry& entry : *entries) sorted.push_back(entry.name);
    }
    std::ranges::sort(sorted);
    return sorted;
  }
  /// `file`, `folder` with `inside`, and `link` to `file`: one of each, for calls that want
  /// another.
  void make_one_of_each() {
    write(at("file"), "bytes");
    ASSERT_OK(fs().make_directory(at("folder")));
    ASSERT_OK(fs().symlink("file", at("link")));
    ASSERT_OK_AND_ASSIGN(const auto folder, fs().open_directory_at(at("folder")));
    write({*folder, "inside"}, "x");
  }

  Disk disk_ = GetParam().make();
  std::unique_ptr<Directory> root_, a_, b_;
};

TEST_P(EveryFileSystem, OpensFoldersByPathAndByName) {
  make_one_of_each();
  ASSERT_OK_AND_ASSIGN(const auto folder, fs().open_directory(disk_.root_path + "/folder"));
  EXPECT_EQ(folder->path(), disk_.root_path + "/folder");
  ASSERT_OK_AND_ASSIGN(const auto by_name, fs().open_directory_at(at("folder")));
  EXPECT_EQ(by_name->path(), folder->path());
  EXPECT_EQ(fs().stat_handle(*by_name).value().id, fs().stat_handle(*folder).value().id);

  EXPECT_CODE(Code::kNotFound, fs().open_directory(disk_.root_path + "/nothing"));
  EXPECT_CODE(Code::kIo, fs().open_directory(disk_.root_path + "/file"));
  EXPECT_CODE(Code::kIo, fs().open_directory(disk_.root_path + "/file/below"));
  EXPECT_CODE(Code::kNotFound, fs().open_directory(""));
  EXPECT_CODE(Code::kNotFound, fs().open_directory_at(at("nothing")));
  EXPECT_CODE(Code::kIo, fs().open_directory_at(at("file")));
}

TEST_P(EveryFileSystem, FollowsASymlinkInAPathAndNeverInAName) {
  ASSERT_OK(fs().symlink("a", at("to_a")));
  ASSERT_OK(fs().symlink("../a", in_b("up")));
  ASSERT_OK(fs().symlink(disk_.root_path + "/b", at("absolute")));
  ASSERT_OK(fs().symlink("loop", at("loop")));
  ASSERT_OK(fs().symlink("gone", at("dangling")));
  const FileId a = fs().stat_handle(*a_).value().id;
  EXPECT_EQ(fs().stat_path(disk_.root_path + "/to_a").value().id, a);
  EXPECT_EQ(fs().stat_path(disk_.root_path + "/absolute/up").value().id, a);
  EXPECT_OK(fs().open_directory(disk_.root_path + "/to_a"));
  EXPECT_CODE(Code::kIo, fs().stat_path(disk_.root_path + "/loop"));
  EXPECT_CODE(Code::kNotFound, fs().stat_path(disk_.root_path + "/dangling"));

  EXPECT_CODE(Code::kIo, fs().open_directory_at(at("to_a")));
  EXPECT_EQ(fs().stat(at("to_a")).value().type, FileType::kSymlink);
}

TEST_P(EveryFileSystem, ASymlinkIsNoFile) {
  make_one_of_each();
  EXPECT_EQ(fs().read_link(at("link")).value(), "file");
  EXPECT_EQ(fs().stat(at("link")).value().size_bytes, 4U);
  EXPECT_CODE(Code::kIo, fs().read(at("link"), 100));
  EXPECT_CODE(Code::kIo, fs().read_range(at("link"), 0, 1));
  EXPECT_CODE(Code::kIo, fs().patch(at("link"), 0, "x"));
  EXPECT_CODE(Code::kIo, fs().set_mode(at("link"), 0444));
  EXPECT_CODE(Code::kIo, fs().sync_file(at("link")));
  EXPECT_CODE(Code::kIo, fs().try_lock(at("link")));
  EXPECT_CODE(Code::kExists, fs().write_new(at("link"), "x"));
  EXPECT_CODE(Code::kExists, fs().symlink("other", at("link")));
  EXPECT_CODE(Code::kExists, fs().symlink("other", at("file")));
  EXPECT_CODE(Code::kNotFound, fs().symlink("", at("empty")));
  EXPECT_CODE(Code::kNotFound, fs().read_link(at("nothing")));
  EXPECT_CODE(Code::kIo, fs().read_link(at("file")));
  EXPECT_CODE(Code::kIo, fs().remove_directory(at("link")));
  EXPECT_EQ(content(at("file")), "bytes");
  EXPECT_OK(fs().unlink(at("link")));
  EXPECT_EQ(content(at("file")), "bytes");
}

TEST_P(EveryFileSystem, AFolderIsNoFile) {
  make_one_of_each();
  EXPECT_CODE(Code::kIo, fs().read(at("folder"), 100));
  EXPECT_CODE(Code::kIo, fs().read_range(at("folder"), 0, 1));
  EXPECT_CODE(Code::kIo, fs().patch(at("folder"), 0, "x"));
  EXPECT_CODE(Code::kIo, fs().set_mode(at("folder"), 0700));
  EXPECT_CODE(Code::kIo, fs().sync_file(at("folder")));
  EXPECT_CODE(Code::kIo, fs().try_lock(at("folder")));
  EXPECT_CODE(Code::kIo, fs().unlink(at("folder")));
  EXPECT_CODE(Code::kIo, fs().link(at("folder"), at("hard")));
  EXPECT_CODE(Code::kExists, fs().write_new(at("folder"), "x"));
  EXPECT_CODE(Code::kIo, fs().remove_directory(at("file")));
}

TEST_P(EveryFileSystem, OneNameIsAllThatAnEntryTakes) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/x"), std::string("/a"),
        std::string("a\0b", 3), std::string(256, 'n')}) {
    EXPECT_CODE(Code::kIo, fs().open_directory_at(at(name))) << name;
    EXPECT_CODE(Code::kIo, fs().make_directory(at(name))) << name;
    EXPECT_CODE(Code::kIo, fs().remove_directory(at(name))) << name;
    EXPECT_CODE(Code::kIo, fs().stat(at(name))) << name;
    EXPECT_CODE(Code::kIo, fs().write_new(at(name), "x")) << name;
    EXPECT_CODE(Code::kIo, fs().read(at(name), 1)) << name;
    EXPECT_CODE(Code::kIo, fs().try_lock(at(name))) << name;
    EXPECT_CODE(Code::kIo, fs().unlink(at(name))) << name;
    EXPECT_CODE(Code::kIo, fs().symlink("a", at(name))) << name;
  }
  write(at("file"), "x");
  for (const std::string_view name : {"", "..", "a/x"}) {
    EXPECT_CODE(Code::kIo, fs().link(at("file"), at(name))) << name;
    EXPECT_CODE(Code::kIo, fs().rename_no_replace(at("file"), at(name))) << name;
    EXPECT_CODE(Code::kIo, fs().rename_replace(at(name), at("y"))) << name;
    EXPECT_CODE(Code::kIo, fs().rename_exchange(at("file"), at(name))) << name;
  }
  EXPECT_THAT(names(*a_), IsEmpty());
  EXPECT_OK(fs().write_new(in_a(std::string(255, 'n')), "x"));
}

TEST_P(EveryFileSystem, ErrorsShowThePathToTheLogOnly) {
  const auto missing = fs().read(in_a("missing.json"), 10);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, Not(HasSubstr("/")));
  EXPECT_EQ(missing.error().detail,
            "read " + disk_.root_path + "/a/missing.json: ENOENT (No such file or directory)");
  const auto renamed = fs().rename_replace(in_a("x"), in_b("y"));
  ASSERT_FALSE(renamed);
  EXPECT_THAT(renamed.error().message, Not(HasSubstr("/")));
  EXPECT_THAT(renamed.error().detail, HasSubstr(disk_.root_path + "/a/x to "));
}

TEST_P(EveryFileSystem, MakesAndRemovesFolders) {
  EXPECT_CODE(Code::kExists, fs().make_directory(at("a")));
  write(in_a("file"), "x");
  EXPECT_CODE(Code::kExists, fs().make_directory(in_a("file")));
  EXPECT_CODE(Code::kExists, fs().remove_directory(at("a")));
  EXPECT_CODE(Code::kNotFound, fs().remove_directory(at("nothing")));
  ASSERT_OK(fs().unlink(in_a("file")));
  EXPECT_OK(fs().remove_directory(at("a")));
  EXPECT_THAT(names(*root_), ElementsAre("b"));
}

TEST_P(EveryFileSystem, NothingCanBeMadeThroughAHandleOfARemovedFolder) {
  ASSERT_OK(fs().remove_directory(at("a")));
  EXPECT_CODE(Code::kNotFound, fs().write_new(in_a("file"), "x"));
  EXPECT_CODE(Code::kNotFound, fs().make_directory(in_a("folder")));
  EXPECT_CODE(Code::kNotFound, fs().try_lock(in_a(".lock")));
  EXPECT_CODE(Code::kNotFound, fs().stat(in_a("file")));
  EXPECT_THAT(names(*a_), IsEmpty());
  write(at("file"), "x");
  EXPECT_CODE(Code::kNotFound, fs().rename_no_replace(at("file"), in_a("file")));
  EXPECT_CODE(Code::kNotFound, fs().link(at("file"), in_a("file")));
  EXPECT_OK(fs().sync_directory(*a_));
}

TEST_P(EveryFileSystem, AHandleStaysWithItsFolderWhenTheFolderIsRenamed) {
  ASSERT_OK(fs().rename_replace(at("a"), at("moved")));
  write(in_a("file"), "x");
  ASSERT_OK_AND_ASSIGN(const auto moved, fs().open_directory_at(at("moved")));
  EXPECT_THAT(names(*moved), ElementsAre("file"));
  EXPECT_CODE(Code::kNotFound, fs().stat_path(disk_.root_path + "/a"));
}

TEST_P(EveryFileSystem, ListsNamesAndTypes) {
  make_one_of_each();
  ASSERT_OK_AND_ASSIGN(const auto entries, fs().list(*root_));
  std::vector<std::pair<std::string, FileType>> found;
  for (const DirEntry& entry : entries) found.emplace_back(entry.name, entry.type);
  EXPECT_THAT(found, ::testing::UnorderedElementsAre(std::pair("a", FileType::kDirectory),
                                                     std::pair("b", FileType::kDirectory),
                                                     std::pair("file", FileType::kFile),
                                                     std::pair("folder", FileType::kDirectory),
                                                     std::pair("link", FileType::kSymlink)));
  EXPECT_THAT(names(*a_), IsEmpty());
}

TEST_P(EveryFileSystem, TwoThreadsListOneHandle) {
  constexpr int kFiles = 300;  // more than one getdents buffer holds
  for (int i = 0; i < kFiles; ++i) write(in_a(std::string(100, 'f') + std::to_string(i)), "");
  std::vector<std::size_t> counts(2);
  {
    std::vector<std::jthread> threads;
    for (std::size_t& count : counts) {
      threads.emplace_back([this, &count] {
        for (int round = 0; round < 20; ++round) {
          const auto entries = fs().list(*a_);
          count += entries ? entries->size() : 0;
        }
      });
    }
  }
  EXPECT_THAT(counts, ElementsAre(20 * kFiles, 20 * kFiles));
}

TEST_P(EveryFileSystem, StatTellsWhatAFileIs) {
  write(in_a("file"), "12345");
  ASSERT_OK_AND_ASSIGN(const FileStat before, fs().stat(in_a("file")));
  EXPECT_EQ(before.type, FileType::kFile);
  EXPECT_EQ(before.size_bytes, 5U);
  EXPECT_EQ(before.links, 1U);
  EXPECT_EQ(before.mode, 0640U);
  EXPECT_GT(before.modified_ns, 1'600'000'000'000'000'000);  // after 2020, in nanoseconds
  EXPECT_EQ(fs().stat_path(disk_.root_path + "/a/file").value().id, before.id);
  EXPECT_EQ(fs().stat(at("a")).value().id, fs().stat_handle(*a_).value().id);
  EXPECT_EQ(fs().stat(at("a")).value().type, FileType::kDirectory);
  EXPECT_EQ(fs().stat(at("a")).value().mode, 0750U);

  ASSERT_OK(fs().set_mode(in_a("file"), 0444));
  EXPECT_EQ(fs().stat(in_a("file")).value().mode, 0444U);
  write(in_a("other"), "12345");
  EXPECT_NE(fs().stat(in_a("other")).value().id, before.id);
  EXPECT_CODE(Code::kNotFound, fs().stat(in_a("nothing")));
  EXPECT_CODE(Code::kNotFound, fs().set_mode(in_a("nothing"), 0444));
  EXPECT_CODE(Code::kNotFound, fs().stat_path(disk_.root_path + "/nothing"));
}

TEST_P(EveryFileSystem, WritesOnceAndReadsWhole) {
  const std::string bytes("\0binary\n", 8);
  write(in_a("file"), bytes);
  EXPECT_EQ(fs().read(in_a("file"), 8).value(), bytes);
  EXPECT_CODE(Code::kIo, fs().read(in_a("file"), 7));
  EXPECT_CODE(Code::kExists, fs().write_new(in_a("file"), "other"));
  EXPECT_EQ(fs().read(in_a("file"), 8).value(), bytes);
  write(in_a("empty"), "");
  EXPECT_EQ(fs().read(in_a("empty"), 0).value(), "");
  const std::string large(3'000'000, 'x');
  write(in_a("large"), large);
  EXPECT_TRUE(fs().read(in_a("large"), large.size()).value() == large);
  EXPECT_CODE(Code::kNotFound, fs().read(in_a("nothing"), 10));
}

TEST_P(EveryFileSystem, ReadsExactlyTheRange) {
  write(in_a("file"), "0123456789");
  EXPECT_EQ(fs().read_range(in_a("file"), 2, 3).value(), "234");
  EXPECT_EQ(fs().read_range(in_a("file"), 0, 10).value(), "0123456789");
  EXPECT_EQ(fs().read_range(in_a("file"), 10, 0).value(), "");
  EXPECT_CODE(Code::kIo, fs().read_range(in_a("file"), 8, 3));
  EXPECT_CODE(Code::kIo, fs().read_range(in_a("file"), 11, 0));
  EXPECT_CODE(Code::kIo, fs().read_range(in_a("file"), 1, UINT64_MAX));
  EXPECT_CODE(Code::kNotFound, fs().read_range(in_a("nothing"), 0, 1));
}

TEST_P(EveryFileSystem, PatchesInsideAFileOnly) {
  write(in_a("file"), "0123456789");
  EXPECT_OK(fs().patch(in_a("file"), 3, "abc"));
  EXPECT_OK(fs().patch(in_a("file"), 9, "z"));
  EXPECT_EQ(content(in_a("file")), "012abc678z");
  EXPECT_CODE(Code::kIo, fs().patch(in_a("file"), 9, "zz"));
  EXPECT_CODE(Code::kIo, fs().patch(in_a("file"), UINT64_MAX, "z"));
  EXPECT_EQ(content(in_a("file")), "012abc678z");
  EXPECT_CODE(Code::kNotFound, fs().patch(in_a("nothing"), 0, "x"));
}

TEST_P(EveryFileSystem, SyncsFilesAndFolders) {
  write(in_a("file"), "x");
  EXPECT_OK(fs().sync_file(in_a("file")));
  ASSERT_OK(fs().set_mode(in_a("file"), 0444));
  EXPECT_OK(fs().sync_file(in_a("file")));
  EXPECT_OK(fs().sync_directory(*a_));
  EXPECT_CODE(Code::kNotFound, fs().sync_file(in_a("nothing")));
}

TEST_P(EveryFileSystem, HardLinksAreTheSameFile) {
  write(in_a("file"), "0123");
  EXPECT_OK(fs().link(in_a("file"), in_b("claim")));
  EXPECT_EQ(fs().stat(in_b("claim")).value().id, fs().stat(in_a("file")).value().id);
  EXPECT_EQ(fs().stat(in_a("file")).value().links, 2U);
  ASSERT_OK(fs().patch(in_a("file"), 0, "X"));
  EXPECT_EQ(content(in_b("claim")), "X123");

  EXPECT_CODE(Code::kExists, fs().link(in_a("file"), in_b("claim")));
  write(in_b("other"), "other");
  EXPECT_CODE(Code::kExists, fs().link(in_a("file"), in_b("other")));
  EXPECT_CODE(Code::kNotFound, fs().link(in_a("nothing"), in_b("new")));
  EXPECT_EQ(content(in_b("other")), "other");

  ASSERT_OK(fs().unlink(in_a("file")));
  EXPECT_EQ(content(in_b("claim")), "X123");
  EXPECT_EQ(fs().stat(in_b("claim")).value().links, 1U);
  EXPECT_CODE(Code::kNotFound, fs().unlink(in_a("file")));
}

TEST_P(EveryFileSystem, LinksASymlinkItself) {
  make_one_of_each();
  ASSERT_OK(fs().link(at("link"), at("second")));
  EXPECT_EQ(fs().read_link(at("second")).value(), "file");
}

TEST_P(EveryFileSystem, RenameNoReplaceMovesOrRefuses) {
  write(in_a("file"), "new");
  const FileId id = fs().stat(in_a("file")).value().id;
  EXPECT_OK(fs().rename_no_replace(in_a("file"), in_b("file")));
  EXPECT_EQ(fs().stat(in_b("file")).value().id, id);
  EXPECT_EQ(fs().stat(in_b("file")).value().links, 1U);
  EXPECT_THAT(names(*a_), IsEmpty());

  write(in_a("second"), "second");
  EXPECT_CODE(Code::kExists, fs().rename_no_replace(in_a("second"), in_b("file")));
  EXPECT_EQ(content(in_a("second")), "second");
  EXPECT_EQ(content(in_b("file")), "new");
  EXPECT_CODE(Code::kExists, fs().rename_no_replace(in_a("second"), in_a("second")));
  EXPECT_CODE(Code::kExists, fs().rename_no_replace(in_a("second"), at("b")));
  ASSERT_OK(fs().link(in_a("second"), in_b("second")));
  EXPECT_CODE(Code::kExists, fs().rename_no_replace(in_a("second"), in_b("second")));
  EXPECT_CODE(Code::kNotFound, fs().rename_no_replace(in_a("nothing"), in_b("x")));
  EXPECT_CODE(Code::kNotFound, fs().rename_no_replace(in_a("nothing"), in_b("file")));
}

TEST_P(EveryFileSystem, RenameReplaceReplaces) {
  write(in_a("file"), "new");
  write(in_b("file"), "old");
  EXPECT_OK(fs().rename_replace(in_a("file"), in_b("file")));
  EXPECT_EQ(content(in_b("file")), "new");
  EXPECT_THAT(names(*a_), IsEmpty());
  EXPECT_OK(fs().rename_replace(in_b("file"), in_b("fresh")));
  EXPECT_OK(fs().rename_replace(in_b("fresh"), in_b("fresh")));
  EXPECT_CODE(Code::kNotFound, fs().rename_replace(in_a("nothing"), in_b("fresh")));
  EXPECT_EQ(content(in_b("fresh")), "new");

  // rename(2): two names of one file both stay.
  ASSERT_OK(fs().link(in_b("fresh"), in_a("twin")));
  EXPECT_OK(fs().rename_replace(in_b("fresh"), in_a("twin")));
  EXPECT_THAT(names(*b_), ElementsAre("fresh"));
}

TEST_P(EveryFileSystem, RenameReplaceKeepsFilesAndFoldersApart) {
  make_one_of_each();
  EXPECT_CODE(Code::kIo, fs().rename_replace(at("file"), at("a")));
  EXPECT_CODE(Code::kIo, fs().rename_replace(at("a"), at("file")));
  EXPECT_CODE(Code::kExists, fs().rename_replace(at("a"), at("folder")));
  EXPECT_CODE(Code::kIo, fs().rename_replace(at("a"), in_a("below_itself")));
  EXPECT_OK(fs().rename_replace(at("folder"), at("a")));
  EXPECT_THAT(names(*root_), ElementsAre("a", "b", "file", "link"));
  ASSERT_OK_AND_ASSIGN(const auto replaced, fs().open_directory_at(at("a")));
  EXPECT_THAT(names(*replaced), ElementsAre("inside"));
  EXPECT_OK(fs().rename_replace(at("link"), at("file")));
  EXPECT_EQ(fs().read_link(at("file")).value(), "file");
}

TEST_P(EveryFileSystem, MovesAndExchangesFoldersWhereTheFlagsAreKnown) {
  make_one_of_each();
  if (!GetParam().rename_flags) {
    EXPECT_CODE(Code::kIo, fs().rename_no_replace(at("a"), at("moved")));
    EXPECT_CODE(Code::kIo, fs().rename_exchange(in_a("x"), in_b("y")));
    return;
  }
  EXPECT_OK(fs().rename_no_replace(at("a"), at("moved")));
  EXPECT_CODE(Code::kExists, fs().rename_no_replace(at("moved"), at("b")));
  EXPECT_CODE(Code::kIo, fs().rename_no_replace(at("b"), in_b("below_itself")));

  EXPECT_OK(fs().rename_exchange(at("b"), at("folder")));
  EXPECT_THAT(names(*b_), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto exchanged, fs().open_directory_at(at("b")));
  EXPECT_THAT(names(*exchanged), ElementsAre("inside"));
  EXPECT_OK(fs().rename_exchange(at("b"), at("file")));
  EXPECT_EQ(content(at("b")), "bytes");
  EXPECT_OK(fs().rename_exchange(at("b"), at("b")));
  EXPECT_CODE(Code::kNotFound, fs().rename_exchange(at("b"), at("nothing")));
  EXPECT_CODE(Code::kNotFound, fs().rename_exchange(at("nothing"), at("b")));
  EXPECT_CODE(Code::kIo, fs().rename_exchange(at("file"), {*exchanged, "inside"}));
  EXPECT_CODE(Code::kIo, fs().rename_exchange({*exchanged, "inside"}, at("file")));
  EXPECT_CODE(Code::kExists, fs().rename_replace({*exchanged, "inside"}, at("file")));
  // Moving a folder into itself is also EINVAL, and must not be taken for a missing flag.
  EXPECT_OK(fs().rename_no_replace(at("moved"), at("moved_again")));
}

TEST_P(EveryFileSystem, ALockIsHeldOnceAndFreedByItsOwner) {
  ASSERT_OK_AND_ASSIGN(auto lock, fs().try_lock(in_a(".lock")));
  EXPECT_CODE(Code::kBusy, fs().try_lock(in_a(".lock")));
  EXPECT_OK(fs().try_lock(in_b(".lock")));
  lock.reset();
  ASSERT_OK_AND_ASSIGN(lock, fs().try_lock(in_a(".lock")));
  EXPECT_EQ(content(in_a(".lock")), "");
  write(in_a("made_before"), "kept");
  EXPECT_OK(fs().try_lock(in_a("made_before")));
  EXPECT_EQ(content(in_a("made_before")), "kept");
}

TEST_P(EveryFileSystem, ALockIsOnTheFileAndNotOnItsName) {
  ASSERT_OK_AND_ASSIGN(const auto lock, fs().try_lock(in_a(".lock")));
  ASSERT_OK(fs().link(in_a(".lock"), in_b("second_name")));
  EXPECT_CODE(Code::kBusy, fs().try_lock(in_b("second_name")));
  ASSERT_OK(fs().unlink(in_a(".lock")));
  EXPECT_OK(fs().try_lock(in_a(".lock")));
}

TEST_P(EveryFileSystem, ReportsItsSpace) {
  ASSERT_OK_AND_ASSIGN(const DiskSpace space, fs().disk_space(*root_));
  EXPECT_GT(space.free_bytes, 0U);
  EXPECT_GE(space.total_bytes, space.free_bytes);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryFileSystem,
                         ::testing::Values(Kind{"Posix", true, [] { return make_posix({}); }},
                                           Kind{"PosixWithoutRenameFlags", false,
                                                [] { return make_posix({.rename_flags = false}); }},
                                           Kind{"Mem", true, make_mem}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace strata::io
