#include "kb/root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "io/posix_file_system.h"
#include "io/testing/expect.h"
#include "io/testing/faulty_file_system.h"
#include "io/testing/mem_file_system.h"
#include "io/testing/temp_dir.h"

namespace strata::kb {
namespace {

using io::Effect;
using io::FileCall;
using io::Operation;
using testing::HasSubstr;

class RootTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Root>> open() {
    return Root::open(faulty_, clock_, {.path = path_, .node = "local"});
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  bool exists(const std::string& name) const { return std::filesystem::exists(file(name)); }
  std::string content(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(path_);
    std::ofstream(file(name)) << bytes;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  const io::TempDir temp_;
  const std::string path_ = std::filesystem::canonical(temp_.path()).string() + "/a/root";
  // The age of real files is counted against it.
  FakeClock clock_{SystemClock().wall()};
  const std::unique_ptr<io::FileSystem> fs_ = io::make_posix_file_system();
  io::FaultyFileSystem faulty_{*fs_};
};

TEST_F(RootTest, AFreshRootIsMadeAndKeepsItsUuid) {
  std::string uuid;
  std::string process;
  {
    ASSERT_OK_AND_ASSIGN(const auto root, open());
    EXPECT_EQ(root->path(), path_);
    EXPECT_TRUE(root->probe().hard_links);
    EXPECT_EQ(root->degraded(), std::nullopt);
    uuid = root->uuid();
    process = root->process();
    EXPECT_EQ(content("strata.json"), R"({"format":1,"lock":"file","uuid":")" + uuid + "\"}\n");
    EXPECT_THAT(process, testing::MatchesRegex("local-[0-9a-f]{8}-[0-9]+"));
    EXPECT_THAT(names(), testing::UnorderedElementsAre("strata.json"));
  }
  ASSERT_OK_AND_ASSIGN(const auto again, open());
  EXPECT_EQ(again->uuid(), uuid);
  EXPECT_NE(again->process(), process);
}

TEST_F(RootTest, ThePathIsMadeCanonical) {
  ASSERT_OK(open());
  std::filesystem::create_directory_symlink(path_, temp_.path() + "/link");
  for (const std::string& spelling :
       {temp_.path() + "/link", temp_.path() + "/link/", path_ + "/../root/."}) {
    ASSERT_OK_AND_ASSIGN(const auto root, Root::open(*fs_, clock_, {.path = spelling}));
    EXPECT_EQ(root->path(), path_);
  }
}

TEST_F(RootTest, OfTwoThatOpenAFreshRootAtOnceBothTakeTheFirstUuid) {
  std::string other;
  faulty_.set_observer([&](const FileCall& call) {
    if (call.operation != Operation::kRenameNoReplace || call.to_name != "strata.json") return;
    other = Root::open(*fs_, clock_, {.path = path_}).value()->uuid();
  });
  ASSERT_OK_AND_ASSIGN(const auto root, open());
  EXPECT_NE(other, "");
  EXPECT_EQ(root->uuid(), other);
  EXPECT_THAT(names(), testing::UnorderedElementsAre("strata.json"));
}

TEST_F(RootTest, ARootOfAnotherKindIsRefusedAndLeftAsItIs) {
  const struct {
    std::string json;
    Code code;
    std::string message;
  } kCases[] = {
      {R"({"format":2,"lock":{"kind":"file"}})", Code::kConflict,
       "This root has format 2, and this program knows only 1: a newer Strata wrote it. Start that "
       "one."},
      {R"({"format":1,"lock":"redis","uuid":"u"})", Code::kConflict,
       "This root's lock is 'redis', and this node was started without --redis: name it there. To "
       "change the kind, stop every node and run `strata root set --lock file`."},
      {R"({"format":1,"lock":"file","catalog":"postgres","uuid":"u"})", Code::kConflict,
       "This root's catalog is in PostgreSQL, and this node was started without --postgres: name "
       "it there. To change that, stop every node and run `strata root set --catalog sqlite`."},
      {R"({"format":1,"lock":"etcd","uuid":"u"})", Code::kConflict,
       "This root's lock is 'etcd', which this program does not know: a newer Strata wrote it. "
       "Start that one."},
      {R"({"format":1,"lock":"file","catalog":"x","uuid":"u"})", Code::kConflict,
       "This root's catalog is 'x', which this program does not know: a newer Strata wrote it. "
       "Start that one."},
      {R"({"format":1,"lock":"file"})", Code::kIo, ""},
      {R"({"format":1,"lo)", Code::kIo, ""},
      {"[]", Code::kIo, ""},
      {"", Code::kIo, ""},
  };
  for (const auto& test : kCases) {
    put("strata.json", test.json);
    const auto refused = open();
    EXPECT_CODE(test.code, refused);
    EXPECT_EQ(refused.error().message,
              test.message.empty() ? "The root's strata.json is damaged: put it back from a "
                                     "backup, or name another folder with --data."
                                   : test.message);
    EXPECT_EQ(content("strata.json"), test.json);
    EXPECT_THAT(names(), testing::ElementsAre("strata.json"));
  }
}

TEST_F(RootTest, PathsThatDuckDbCannotNameAreRefusedBeforeTheyAreMade) {
  for (const char* bad : {"back\\slash", "line\nbreak", "what?"}) {
    const auto refused = Root::open(*fs_, clock_, {.path = temp_.path() + "/" + bad + "/root"});
    EXPECT_CODE(Code::kBadRequest, refused);
    EXPECT_EQ(
        refused.error().message,
        "The root's path has a backslash, a question mark or a line break in it, which DuckDB "
        "cannot name: choose another folder.");
  }
  EXPECT_TRUE(std::filesystem::is_empty(temp_.path()));
  EXPECT_OK(Root::open(*fs_, clock_, {.path = temp_.path() + "/it's [a] *root*"}));
}

TEST_F(RootTest, ANodeNameThatIsNoFileNameIsRefused) {
  for (const char* bad : {"", "a/b", ".a", "a b", "\xc3\xa9"}) {
    EXPECT_CODE(Code::kBadRequest, Root::open(*fs_, clock_, {.path = path_, .node = bad}));
  }
  EXPECT_CODE(Code::kBadRequest,
              Root::open(*fs_, clock_, {.path = path_, .node = std::string(64, 'a')}));
  EXPECT_OK(Root::open(*fs_, clock_, {.path = path_, .node = "Node-1.example_com"}));
}

TEST_F(RootTest, AFileSystemThatCannotKeepAPromiseIsRefused) {
  const struct {
    Operation missing;
    std::string why;
  } kCases[] = {
      {Operation::kLink, "The file system under the root has no hard links"},
      {Operation::kSyncDirectory, "The file system under the root cannot sync a folder"},
  };
  ASSERT_OK(open());
  for (const auto& test : kCases) {
    faulty_.fail_if([&](const FileCall& call) { return call.operation == test.missing; },
                    Effect::kFailBefore);
    const auto refused = open();
    EXPECT_CODE(Code::kIo, refused);
    EXPECT_THAT(refused.error().message, testing::StartsWith(test.why));
  }
}

TEST_F(RootTest, DegradedHoldsInEveryProcessUntilAStartWhoseProbePasses) {
  ASSERT_OK_AND_ASSIGN(const auto here, open());
  ASSERT_OK_AND_ASSIGN(const auto there, open());
  EXPECT_EQ(there->degraded(), std::nullopt);
  here->degrade("fsync of a batch failed twice");
  here->degrade("and once more");
  EXPECT_EQ(here->degraded(), "fsync of a batch failed twice");
  EXPECT_EQ(there->degraded(), std::nullopt);  // looked less than a second ago
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(there->degraded(), "fsync of a batch failed twice");
  EXPECT_EQ(content("DEGRADED"), R"({"reason":"fsync of a batch failed twice","at":")" +
                                     format_iso8601(clock_.wall() - std::chrono::seconds(1)) +
                                     R"(","process":")" + here->process() + "\"}\n");

  ASSERT_OK_AND_ASSIGN(const auto restarted, open());
  EXPECT_FALSE(exists("DEGRADED"));
  EXPECT_EQ(restarted->degraded(), std::nullopt);
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(there->degraded(), std::nullopt);
  // It saw the disk fail, and only its own restart ends that.
  EXPECT_EQ(here->degraded(), "fsync of a batch failed twice");
}

TEST_F(RootTest, IngestStopsWhereTheDiskHasNoRoomOrIsInDoubt) {
  ASSERT_OK_AND_ASSIGN(const auto root, open());
  EXPECT_EQ(root->ingest_stop(0), std::nullopt);
  const auto full = root->ingest_stop(UINT64_MAX);
  ASSERT_TRUE(full);
  EXPECT_EQ(full->code, Code::kDiskFull);
  EXPECT_THAT(full->message, HasSubstr("KiB are kept in reserve"));
  faulty_.fail_if([](const FileCall& call) { return call.operation == Operation::kDiskSpace; },
                  Effect::kFailBefore);
  EXPECT_EQ(root->ingest_stop(UINT64_MAX), std::nullopt);  // the writes will tell
  faulty_.heal();
  root->degrade("the disk is gone");
  const auto degraded = root->ingest_stop(UINT64_MAX);
  ASSERT_TRUE(degraded);
  EXPECT_EQ(degraded->code, Code::kDegraded);
  EXPECT_EQ(degraded->message, "the disk is gone");
}

TEST_F(RootTest, TheFlagHoldsWhereTheFileCannotBeWritten) {
  ASSERT_OK_AND_ASSIGN(const auto root, open());
  faulty_.fail_if([](const FileCall&) { return true; }, Effect::kFailBefore);
  root->degrade("the disk is gone");
  EXPECT_EQ(root->degraded(), "the disk is gone");
  EXPECT_FALSE(exists("DEGRADED"));
}

TEST_F(RootTest, TheFileIsLookedAtOnceASecond) {
  ASSERT_OK_AND_ASSIGN(const auto root, open());
  faulty_.reset_counts();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(root->degraded(), std::nullopt);
  EXPECT_EQ(faulty_.calls(), 1U);
  put("DEGRADED", "");  // `touch DEGRADED`
  clock_.advance(std::chrono::seconds(1));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(root->degraded(), "There is a file DEGRADED in the root.");
  }
  EXPECT_EQ(faulty_.calls(), 2U);
  // A look that fails says nothing good; one that found no descriptor says nothing.
  clock_.advance(std::chrono::seconds(1));
  faulty_.fail_call(0, Effect::kFailBefore, Code::kBusy);
  EXPECT_EQ(root->degraded(), "There is a file DEGRADED in the root.");
  std::filesystem::remove(file("DEGRADED"));
  clock_.advance(std::chrono::seconds(1));
  faulty_.fail_call(0, Effect::kFailBefore, Code::kIo);
  EXPECT_EQ(root->degraded(), "The file DEGRADED in the root could not be read.");
}

TEST_F(RootTest, ARootThatCannotBeTriedOutOpensWithoutTakingBatches) {
  const auto fail_probe = [this] {
    faulty_.fail_if(
        [](const FileCall& call) {
          return call.operation == Operation::kMakeDirectory && call.name.starts_with("_probe.");
        },
        Effect::kFailBefore, Code::kDiskFull);
  };
  fail_probe();
  EXPECT_CODE(Code::kDiskFull, open());  // a fresh one has nothing to read
  faulty_.heal();
  ASSERT_OK_AND_ASSIGN(const auto before, open());
  before->degrade("earlier");
  fail_probe();
  ASSERT_OK_AND_ASSIGN(const auto root, open());
  EXPECT_EQ(root->uuid(), before->uuid());
  ASSERT_TRUE(root->degraded());
  EXPECT_THAT(*root->degraded(), HasSubstr("could not be written to"));
  EXPECT_TRUE(exists("DEGRADED"));
}

TEST_F(RootTest, StagedLeftoversAreSweptAfterAnHour) {
  put(".staged.local-00-1.ab.json", "{}");
  put(".something-else", "");
  ASSERT_OK(open());
  EXPECT_TRUE(exists(".staged.local-00-1.ab.json"));
  clock_.advance(std::chrono::minutes(61));
  clock_.trust(false);
  ASSERT_OK(open());
  EXPECT_TRUE(exists(".staged.local-00-1.ab.json"));
  clock_.trust(true);
  ASSERT_OK(open());
  EXPECT_FALSE(exists(".staged.local-00-1.ab.json"));
  EXPECT_TRUE(exists(".something-else"));
}

/// Where nothing of the real disk is: the root's SQLite file cannot be made there, and nothing
/// waits for it.
constexpr std::string_view kMemPath = "/no such folder on the real disk/root";

TEST(RootPowerCut, AUuidThatWasToldIsKept) {
  FakeClock clock{WallTime{}};
  io::MemFileSystem mem(&clock);
  io::FaultyFileSystem faulty(mem);
  std::uint64_t states = 0;
  faulty.set_observer([&](const FileCall& call) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const auto cut = mem.clone();
      cut->crash(seed == 0 ? io::MemFileSystem::Keep::kNothing : io::MemFileSystem::Keep::kSome,
                 call.number * 10 + seed);
      EXPECT_OK(Root::open(*cut, clock, {.path = std::string(kMemPath)}));
      ++states;
    }
  });
  ASSERT_OK_AND_ASSIGN(const auto root, Root::open(faulty, clock, {.path = std::string(kMemPath)}));
  EXPECT_GT(states, 40U);
  mem.crash(io::MemFileSystem::Keep::kNothing);
  ASSERT_OK_AND_ASSIGN(const auto rebooted,
                       Root::open(mem, clock, {.path = std::string(kMemPath)}));
  EXPECT_EQ(rebooted->uuid(), root->uuid());
}

}  // namespace
}  // namespace strata::kb
