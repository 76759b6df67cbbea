#include "stream/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kb/backend_history.h"
#include "stream/testing/stream_world.h"

namespace strata::stream {
namespace {

using ::testing::HasSubstr;

/// A root with two batches of one stream, and where its backup goes.
class BackupTest : public testing::Test {
 protected:
  BackupTest() {
    EXPECT_TRUE(process_.land(stream_, "b1", "{\"a\":\"1\"}\n{\"a\":\"2\"}\n"));
    EXPECT_TRUE(process_.land(stream_, "b2", "{\"b\":\"3\"}\n"));
  }

  Result<BackupReport> back_up() {
    return stream::back_up(process_.faults,
                           {.root = world_.root, .kb = Process::kb_id(), .target = target_});
  }

  /// A root of its own whose kb `demo` is the backup.
  void restore(World& elsewhere) {
    std::filesystem::create_directories(elsewhere.root + "/kb");
    std::filesystem::rename(target_, elsewhere.root + "/kb/demo");
  }

  bool is_there(const std::string& path) const {
    return std::filesystem::exists(target_ + "/strata/streams/s/" + path);
  }

  World world_;
  Process process_{world_};
  Stream& stream_ = process_.stream("s");
  const std::string target_ = world_.temp.path() + "/backup";
};

TEST_F(BackupTest, HoldsEveryBatchWithItsClaimAndItsNumbers) {
  const Totals before = stream_.numbers().totals();
  ASSERT_OK_AND_ASSIGN(const BackupReport report, back_up());
  EXPECT_EQ(report.streams, 1U);
  EXPECT_EQ(report.batches, 2U);
  EXPECT_EQ(report.rows, 3U);
  EXPECT_EQ(report.copied, 0U);

  World elsewhere;
  restore(elsewhere);
  Process restored(elsewhere, "restored");
  Stream& stream = restored.stream("s");
  EXPECT_EQ(stream.numbers().totals(), before);
  const auto again = restored.land(stream, "b1", "{\"a\":\"1\"}\n{\"a\":\"2\"}\n");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->replayed);
  const auto other = restored.land(stream, "b2", "{\"b\":\"4\"}\n");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().error.code, Code::kBatchIdReused);
  const auto fresh = restored.land(stream, "b3", "{\"c\":\"5\"}\n");
  ASSERT_TRUE(fresh);
  EXPECT_FALSE(fresh->replayed);
  EXPECT_EQ(stream.columns().list(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(stream.numbers().totals().files, 3U);
}

/// The original goes on under the backup's feet: what lands after the data was listed is not in it,
/// neither as a file nor as a claim, and can be sent to the restored copy.
TEST_F(BackupTest, ABatchThatLandsMeanwhileIsInItWholeOrNotAtAll) {
  bool landed = false;
  process_.faults.set_observer([&](const io::FileCall& call) {
    const bool data_was_taken = call.operation == io::Operation::kOpenDirectoryAt &&
                                call.name == "columns" && call.directory.starts_with(world_.root);
    if (!data_was_taken || landed) return;
    landed = true;
    EXPECT_TRUE(process_.land(stream_, "late", "{\"d\":\"6\"}\n"));
  });
  ASSERT_OK_AND_ASSIGN(const BackupReport report, back_up());
  process_.faults.set_observer({});
  ASSERT_TRUE(landed);
  EXPECT_EQ(report.batches, 2U);
  EXPECT_FALSE(is_there("data/late.parquet"));
  EXPECT_FALSE(
      is_there("ids/" + io::Publisher::shard_of(BatchId::parse("late").value()) + "/late"));

  World elsewhere;
  restore(elsewhere);
  Process restored(elsewhere, "restored");
  const auto sent = restored.land(restored.stream("s"), "late", "{\"d\":\"6\"}\n");
  ASSERT_TRUE(sent);
  EXPECT_FALSE(sent->replayed);
}

TEST_F(BackupTest, AStreamDeletedBeforeItsTurnIsNotInIt) {
  Stream& other = process_.stream("aaa");
  bool gone = false;
  process_.faults.set_observer([&](const io::FileCall& call) {
    if (gone || call.operation != io::Operation::kOpenDirectoryAt || call.name != "aaa") return;
    gone = true;
    EXPECT_OK(process_.streams->remove(other));
  });
  const auto report = back_up();
  process_.faults.set_observer({});
  ASSERT_OK(report);
  ASSERT_TRUE(gone);
  EXPECT_EQ(report->streams, 1U);
  EXPECT_EQ(report->batches, 2U);
  EXPECT_FALSE(std::filesystem::exists(target_ + "/strata/streams/aaa"));
}

TEST_F(BackupTest, AStreamWithoutItsReceiverYetIsNotInIt) {
  std::filesystem::create_directories(world_.root + "/kb/demo/strata/streams/half/receiver");
  std::filesystem::create_directories(world_.root + "/kb/demo/strata/streams/less");
  ASSERT_OK_AND_ASSIGN(const BackupReport report, back_up());
  EXPECT_EQ(report.streams, 1U);
  EXPECT_FALSE(std::filesystem::exists(target_ + "/strata/streams/half"));
  EXPECT_FALSE(std::filesystem::exists(target_ + "/strata/streams/less"));
}

TEST_F(BackupTest, SaysWhereTheCatalogIsAndNothingOfAMoveUnderWay) {
  const std::unique_ptr<io::FileSystem> fs = io::make_posix_file_system();
  const auto folder = fs->open_directory(world_.root + "/kb/demo").value();
  kb::BackendHistory history(*fs, *folder, kb::Backend::kFile);
  const kb::BackendState on_file{.backend = kb::Backend::kFile};
  const kb::BackendState moving{.backend = kb::Backend::kFile, .migrating = true};
  ASSERT_OK(history.append({on_file, 0}, moving));
  ASSERT_OK(back_up());
  EXPECT_FALSE(std::filesystem::exists(target_ + "/backend"));
  std::filesystem::remove_all(target_);

  ASSERT_OK(history.append({moving, 1}, {.backend = kb::Backend::kPostgres}));
  ASSERT_OK(back_up());
  World elsewhere;
  restore(elsewhere);
  Process restored(elsewhere, "restored");
  EXPECT_EQ(restored.knowledgebase().backend(), "postgres");
  EXPECT_OK(restored.knowledgebase().check_not_migrating());
}

/// It copied itself into itself, and what it copied were rows of the stream.
TEST_F(BackupTest, NoBackupInsideTheRoot) {
  const std::string link = world_.temp.path() + "/link";
  std::filesystem::create_directory_symlink(world_.root + "/kb", link);
  for (const std::string& folder :
       {world_.root, world_.root + "/kb", world_.root + "/kb/demo/strata/streams/s/data", link}) {
    const std::string target = folder + "/backup";
    const auto refused = stream::back_up(
        process_.faults, {.root = world_.root, .kb = Process::kb_id(), .target = target});
    EXPECT_CODE(Code::kConflict, refused);
    EXPECT_FALSE(std::filesystem::exists(target));
  }
}

TEST_F(BackupTest, WhereNoHardLinkIsPossibleTheBytesAreCopied) {
  process_.faults.fail_if(
      [](const io::FileCall& call) { return call.operation == io::Operation::kLink; },
      io::Effect::kFailBefore);
  ASSERT_OK_AND_ASSIGN(const BackupReport report, back_up());
  process_.faults.heal();
  EXPECT_GT(report.copied, 4U);
  World elsewhere;
  restore(elsewhere);
  Process restored(elsewhere, "restored");
  EXPECT_EQ(restored.stream("s").numbers().totals(), stream_.numbers().totals());
}

/// Ended at any file system call: the name is not there, or the backup is whole.
TEST_F(BackupTest, AppearsUnderItsNameOnlyWhenItIsWhole) {
  ASSERT_OK(back_up());
  process_.faults.reset_counts();
  std::filesystem::remove_all(target_);
  ASSERT_OK(back_up());
  const std::uint64_t calls = process_.faults.calls();
  std::uint64_t whole = 0;
  for (std::uint64_t call = 0; call < calls; ++call) {
    std::filesystem::remove_all(target_);
    process_.faults.fail_from_call(call);
    EXPECT_FALSE(back_up()) << call;
    process_.faults.heal();
    if (!std::filesystem::exists(target_)) continue;
    ++whole;
    EXPECT_TRUE(is_there("data/b1.parquet") && is_there("data/b2.parquet")) << call;
  }
  EXPECT_EQ(whole, 1U);  // only the last sync was missing
}

TEST_F(BackupTest, RefusesWithTheReason) {
  std::filesystem::create_directory(target_);
  const auto taken = back_up();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Code::kConflict);

  const auto unknown = stream::back_up(
      process_.faults,
      {.root = world_.root, .kb = KbId::parse("other").value(), .target = target_ + "2"});
  EXPECT_CODE(Code::kUnknownKnowledgebase, unknown);
  EXPECT_CODE(Code::kNotFound, stream::back_up(process_.faults, {.root = world_.temp.path(),
                                                                 .kb = Process::kb_id(),
                                                                 .target = target_ + "2"}));

  std::ofstream(world_.root + "/strata.json") << R"({"format":2,"lock":"file","uuid":"u"})";
  std::filesystem::remove(target_);
  const auto newer = back_up();
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, Code::kConflict);
  EXPECT_THAT(newer.error().message, HasSubstr("format 2"));
  EXPECT_FALSE(std::filesystem::exists(target_));
}

}  // namespace
}  // namespace strata::stream
