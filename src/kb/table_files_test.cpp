#include "kb/table_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "io/numbered.h"
#include "io/testing/expect.h"
#include "io/testing/faulty_file_system.h"
#include "io/testing/mem_file_system.h"

namespace strata::kb {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kBytesMax = 1 << 20;
const std::string kKb = "/data/kb/demo";

class TableFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder :
         {"/staging", "/strata/snapshots", "/strata/ontology", "/strata/tables"}) {
      ASSERT_OK(mem_.make_path(kKb + folder));
    }
  }

  std::unique_ptr<TableFiles> open(io::FileSystem& fs, const std::string& process = "local-00-1") {
    return make_table_files({.fs = fs, .kb_folder = *kb_, .process = process});
  }
  /// Empty where there is no such folder.
  static std::vector<std::string> names(io::FileSystem& fs, const std::string& folder) {
    std::vector<std::string> names;
    const auto directory = fs.open_directory(kKb + folder);
    if (!directory) return names;
    const auto entries = fs.list(**directory).value();
    for (const io::DirEntry& entry : entries) names.push_back(entry.name);
    std::ranges::sort(names);
    return names;
  }
  std::vector<std::string> names(const std::string& folder) { return names(mem_, folder); }
  static std::string content(io::FileSystem& fs, const std::string& folder,
                             const std::string& name) {
    const auto directory = fs.open_directory(kKb + folder);
    return fs.read({**directory, name}, kBytesMax).value();
  }
  std::string content(const std::string& folder, const std::string& name) {
    return content(mem_, folder, name);
  }
  /// A job that writes `bytes` and publishes them as a snapshot of table `pay`.
  Result<Snapshot> publish(io::FileSystem& fs, std::string_view bytes) {
    const auto files = open(fs);
    STRATA_ASSIGN_OR_RETURN(const auto job, files->make_job_folder(0));
    STRATA_RETURN_IF_ERROR(mem_.write_new({job->directory(), "snapshot.parquet"}, bytes));
    return files->publish_snapshot({*job, "snapshot.parquet", "pay"});
  }

  io::MemFileSystem mem_;
  const std::unique_ptr<io::Directory> kb_ = mem_.make_path(kKb).value();
};

TEST_F(TableFilesTest, SnapshotsAreNumberedReadOnlyAndNeverReplaced) {
  ASSERT_OK_AND_ASSIGN(const Snapshot first, publish(mem_, "one"));
  ASSERT_OK_AND_ASSIGN(const Snapshot second, publish(mem_, "two"));
  EXPECT_EQ(first.number, 1U);
  EXPECT_EQ(second.number, 2U);
  EXPECT_EQ(second.file, kKb + "/strata/snapshots/pay/000002.parquet");
  EXPECT_EQ(content("/strata/snapshots/pay", "000001.parquet"), "one");
  EXPECT_EQ(content("/strata/snapshots/pay", "000002.parquet"), "two");
  const auto folder = mem_.open_directory(kKb + "/strata/snapshots/pay").value();
  EXPECT_EQ(mem_.stat({*folder, "000002.parquet"}).value().mode, 0444U);
  EXPECT_THAT(names("/staging"), ElementsAre());
}

TEST_F(TableFilesTest, OfTwoThatTakeANumberAtOnceNoneIsLost) {
  io::FaultyFileSystem faulty(mem_);
  bool taken = false;
  faulty.set_observer([&](const io::FileCall& call) {
    if (call.operation != io::Operation::kRenameNoReplace || std::exchange(taken, true)) return;
    EXPECT_EQ(publish(mem_, "other").value().number, 1U);
  });
  ASSERT_OK_AND_ASSIGN(const Snapshot late, publish(faulty, "late"));
  EXPECT_EQ(late.number, 2U);
  EXPECT_EQ(content("/strata/snapshots/pay", "000001.parquet"), "other");
  EXPECT_EQ(content("/strata/snapshots/pay", "000002.parquet"), "late");
}

TEST_F(TableFilesTest, TypedTablesAreNeverReplacedAndTheirVersionsAreCounted) {
  const auto files = open(mem_);
  EXPECT_EQ(files->highest_version().value(), 0U);
  const auto publish_table = [&](std::string_view bytes,
                                 std::uint64_t version) -> Result<std::string> {
    STRATA_ASSIGN_OR_RETURN(const auto job, files->make_job_folder(0));
    STRATA_RETURN_IF_ERROR(mem_.write_new({job->directory(), "staged"}, bytes));
    return files->publish_typed_table(
        {.from = *job, .name = "staged", .version = version, .as = "pay.parquet"});
  };
  ASSERT_OK_AND_ASSIGN(const std::string file, publish_table("one", 7));
  EXPECT_EQ(file, "strata/ontology/000007/pay.parquet");
  EXPECT_CODE(Code::kExists, publish_table("two", 7));
  EXPECT_OK(publish_table("three", 3));
  EXPECT_EQ(content("/strata/ontology/000007", "pay.parquet"), "one");
  EXPECT_TRUE(files->has_typed_table(file).value());
  EXPECT_FALSE(files->has_typed_table("strata/ontology/000007/gone.parquet").value());
  EXPECT_FALSE(files->has_typed_table("strata/ontology/000008/pay.parquet").value());
  EXPECT_EQ(files->highest_version().value(), 7U);
}

TEST_F(TableFilesTest, AJobsFolderGoesWithAllThatIsLeftInIt) {
  {
    ASSERT_OK_AND_ASSIGN(const auto job, open(mem_)->make_job_folder(0));
    EXPECT_TRUE(job->path().starts_with(kKb + "/staging/local-00-1."));
    ASSERT_OK(mem_.write_new({job->directory(), "spilled"}, "x"));
    EXPECT_EQ(names("/staging").size(), 1U);
  }
  EXPECT_THAT(names("/staging"), ElementsAre());
}

TEST_F(TableFilesTest, AFullDiskIsToldBeforeAnythingIsWritten) {
  mem_.set_free_bytes(limits::kFreeBytesReserveMin + 99);
  const auto full = open(mem_)->make_job_folder(100);
  EXPECT_CODE(Code::kDiskFull, full);
  EXPECT_EQ(full.error().message,
            "The disk is too full for this job: 64 MiB are free, 65 MiB are needed. Free some "
            "space and start it again.");
  EXPECT_OK(open(mem_)->make_job_folder(99));
}

TEST_F(TableFilesTest, ASidecarIsReplacedWholeInAFolderMadeForIt) {
  const auto files = open(mem_);
  ASSERT_OK(files->publish_sidecar({"stream:pay", ".profile.json", "old"}));
  ASSERT_OK(files->publish_sidecar({"stream:pay", ".profile.json", "new"}));
  EXPECT_EQ(content("/strata/tables/stream:pay", ".profile.json"), "new");
  EXPECT_THAT(names("/strata/tables/stream:pay"), ElementsAre(".profile.json"));
  EXPECT_THAT(names("/staging"), ElementsAre());
  EXPECT_CODE(Code::kIo, files->publish_sidecar({"a/b", ".profile.json", "x"}));
  EXPECT_CODE(Code::kIo, files->publish_sidecar({"..", ".profile.json", "x"}));
}

// Each call of a publish fails once, before and after it took effect, then the power goes: what was
// answered is there, whatever else is there is whole, and the next publish goes well.
TEST_F(TableFilesTest, AfterAnyFailureAndAPowerCutWhatWasAnsweredIsThereWhole) {
  for (const io::Effect effect : {io::Effect::kFailBefore, io::Effect::kFailAfter}) {
    bool fired = true;
    for (std::uint64_t call = 0; fired; ++call) {
      SCOPED_TRACE(call);
      io::FaultyFileSystem faulty(mem_);
      faulty.fail_call(call, effect);
      const auto snapshot = publish(faulty, "whole");
      const auto sidecar = open(faulty)->publish_sidecar({"t", "p", "whole"});
      fired = faulty.fired();
      const auto after = mem_.clone();
      after->crash(io::MemFileSystem::Keep::kNothing);
      const auto numbers = names(*after, "/strata/snapshots/pay");
      for (const std::string& name : numbers) {
        EXPECT_EQ(content(*after, "/strata/snapshots/pay", name), "whole");
      }
      if (snapshot) {
        EXPECT_THAT(numbers, testing::Contains(io::numbered_name(snapshot->number, ".parquet")));
      }
      if (sidecar) {
        EXPECT_EQ(content(*after, "/strata/tables/t", "p"), "whole");
      }
    }
  }
}

}  // namespace
}  // namespace strata::kb
