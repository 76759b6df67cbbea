#include "io/ledger.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "io/numbered.h"
#include "io/testing/expect.h"
#include "io/testing/faulty_file_system.h"
#include "io/testing/mem_file_system.h"

namespace strata::io {
namespace {

constexpr char kFolder[] = "/s/ledger";
constexpr char kStaging[] = "/s/_tmp";

BatchId id_of(std::string_view text) { return BatchId::parse(text).value(); }

BatchFacts facts_of(const std::string& id) {
  return {.batch_id = id,
          .attempt = "node-boot-1/00000007.parquet",
          .partition = "",
          .arrived_at = "2026-11-29T12:00:00.000Z",
          .rows = 3,
          .columns = 2,
          .body_sha256 = std::string(64, 'b'),
          .content_sha256 = std::string(64, 'c'),
          .file_sha256 = std::string(64, 'f'),
          .file_bytes = 1234};
}

std::string vector_file() {
  std::ifstream in(std::string(STRATA_SOURCE_DIR) + "/tests/vectors/ledger.ids", std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

/// One process's ledger over a disk that may fail.
struct Process {
  explicit Process(FileSystem& disk) : fs(disk), staging(disk.open_directory(kStaging).value()) {
    auto opened = FileLedger::open(fs, disk.open_directory(kFolder).value());
    if (opened) {
      ledger = std::move(*opened);
    } else {
      refused = opened.error();
    }
  }
  Result<void> add(const std::vector<std::string>& ids) {
    std::vector<BatchFacts> batches;
    for (const std::string& id : ids) batches.push_back(facts_of(id));
    return ledger->add(std::move(batches), *staging);
  }
  bool has(const std::string& id) {
    const auto found = ledger->find(id_of(id));
    EXPECT_OK(found);
    if (!found || !*found) return false;
    EXPECT_EQ(**found, facts_of(id));
    return true;
  }

  FaultyFileSystem fs;
  std::unique_ptr<Directory> staging;
  std::unique_ptr<FileLedger> ledger;
  Error refused;
};

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() {
    EXPECT_OK(disk.make_path(kFolder));
    EXPECT_OK(disk.make_path(kStaging));
  }
  void put(const std::string& name, const std::string& bytes) {
    const auto folder = disk.open_directory(kFolder);
    ASSERT_OK(disk.write_new({**folder, name}, bytes));
  }

  MemFileSystem disk;
};

TEST_F(LedgerTest, AnEmptyOneCostsALookAtOneName) {
  Process process(disk);
  process.fs.reset_counts();
  EXPECT_FALSE(process.has("a"));
  EXPECT_EQ(process.fs.calls(), 1U);
  EXPECT_EQ(process.fs.calls(Operation::kStat, kFolder), 1U);
}

TEST_F(LedgerTest, TheBytesAreTheVectors) {
  Process process(disk);
  ASSERT_OK(process.add({"prod-2", "a", "Prod.1"}));
  const auto folder = disk.open_directory(kFolder);
  ASSERT_OK_AND_ASSIGN(const auto bytes, disk.read({**folder, "000001.ids"}, kNumberedBytesMax));
  EXPECT_EQ(bytes, vector_file());
}

TEST_F(LedgerTest, AReaderFindsWhatTheVectorHolds) {
  put("000001.ids", vector_file());
  Process process(disk);
  for (const char* id : {"prod-2", "a", "Prod.1"}) EXPECT_TRUE(process.has(id)) << id;
  for (const char* id : {"prod-1", "A", "prod.1", "b"}) EXPECT_FALSE(process.has(id)) << id;
  EXPECT_EQ(process.ledger->size(), 3U);
}

TEST_F(LedgerTest, WhatAnotherProcessAddedIsKnownAtTheNextLook) {
  Process first(disk);
  Process second(disk);
  EXPECT_FALSE(second.has("a"));
  ASSERT_OK(first.add({"a"}));
  EXPECT_TRUE(second.has("a"));
  ASSERT_OK(second.add({"b", "c"}));
  ASSERT_OK(first.add({"d"}));
  for (const char* id : {"a", "b", "c", "d"}) {
    EXPECT_TRUE(first.has(id)) << id;
    EXPECT_TRUE(Process(disk).has(id)) << id;
  }
}

TEST_F(LedgerTest, ManyThatAddAtOnceLoseNothing) {
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([this, n] {
      Process process(disk);
      for (int k = 0; k < 20; ++k) EXPECT_OK(process.add({fmt::format("{}-{}", n, k)}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  Process process(disk);
  EXPECT_EQ(process.ledger->size(), 80U);
  EXPECT_TRUE(process.has("3-19"));
}

TEST_F(LedgerTest, TheSameIdMayBeAddedAgainButNotAsTwo) {
  Process process(disk);
  ASSERT_OK(process.add({"a", "a"}));
  ASSERT_OK(process.add({"a", "b"}));
  EXPECT_TRUE(process.has("a"));
  auto other = facts_of("c");
  other.rows = 4;
  EXPECT_CODE(Code::kConflict, process.ledger->add({facts_of("c"), other}, *process.staging));
  other.attempt = "tab\tin it";
  EXPECT_CODE(Code::kBadBatch, process.ledger->add({other}, *process.staging));
  EXPECT_FALSE(process.has("c"));
}

TEST_F(LedgerTest, ADamagedOrMissingFileIsRefused) {
  const std::string whole = vector_file();
  const auto folder = disk.open_directory(kFolder);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    put("000001.ids", bytes);
    EXPECT_EQ(Process(disk).refused.code, Code::kIo) << "byte " << at;
    ASSERT_OK(disk.unlink({**folder, "000001.ids"}));
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{20}, whole.size() - 1}) {
    put("000001.ids", whole.substr(0, size));
    EXPECT_EQ(Process(disk).refused.code, Code::kIo) << size << " bytes";
    ASSERT_OK(disk.unlink({**folder, "000001.ids"}));
  }
  put("000002.ids", whole);
  EXPECT_EQ(Process(disk).refused.message,
            "the stream's ledger is damaged: 000001.ids is missing; put the file back from a "
            "backup, for without it batches could land a second time");
}

TEST_F(LedgerTest, AfterAnErrorOrAPowerCutItIsAllThereOrNotAtAll) {
  for (const Effect effect : {Effect::kFailBefore, Effect::kFailAfter}) {
    bool fired = true;
    for (std::uint64_t n = 0; fired; ++n) {
      const auto world = disk.clone();
      Process process(*world);
      process.fs.fail_call(n, effect);
      const auto added = process.add({"a", "b"});
      fired = process.fs.fired();
      EXPECT_TRUE(added || fired);
      world->crash(MemFileSystem::Keep::kNothing);
      Process after(*world);
      EXPECT_EQ(after.has("a"), after.has("b"));
      EXPECT_TRUE(!added || after.has("a")) << n;
      ASSERT_OK(after.add({"a", "b"}));
      EXPECT_TRUE(after.has("b"));
    }
  }
}

TEST_F(LedgerTest, ThePowerCutCatchesAFolderThatIsNotSynced) {
  Process process(disk);
  process.fs.fail_if(
      [](const FileCall& call) { return call.operation == Operation::kSyncDirectory; },
      Effect::kLost);
  ASSERT_OK(process.add({"a"}));
  disk.crash(MemFileSystem::Keep::kNothing);
  EXPECT_FALSE(Process(disk).has("a"));
}

}  // namespace
}  // namespace strata::io
