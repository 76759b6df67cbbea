#include "catalog/sqlite_catalog.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/ids.h"

namespace strata::catalog {
namespace {

class SqliteCatalogTest : public testing::Test {
 protected:
  SqliteCatalogTest() { std::filesystem::create_directory(folder_); }
  ~SqliteCatalogTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Catalog> open() {
    auto catalog = open_sqlite_catalog(path_);
    EXPECT_TRUE(catalog.has_value()) << catalog.error().message << catalog.error().detail;
    return std::move(catalog).value();
  }

  /// What an outside client does with the file.
  void run_outside(const char* sql) {
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &raw), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(raw, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(raw);
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("strata-catalog-" + random_hex(8));
  const std::string path_ = (folder_ / "it's a catalog.sqlite").string();
};

TEST_F(SqliteCatalogTest, RowsArePutByKeyAndReadInItsOrderByEveryHolder) {
  const ManifestRow deferred{"raw_extracted.stream_b", "stream:b", std::nullopt, "deferred"};
  const ManifestRow ready{"raw_extracted.stream_b", "stream:b", 12, "ready"};
  const ManifestRow other{"raw_extracted.stream_a", "upload:it's; DROP", 0, "error"};
  const auto one = open();
  const auto two = open();
  ASSERT_TRUE(one->put_manifest(deferred));
  EXPECT_EQ(two->manifest().value(), (std::vector<ManifestRow>{deferred}));
  ASSERT_TRUE(two->put_manifest(ready));
  ASSERT_TRUE(two->put_manifest(other));
  EXPECT_EQ(one->manifest().value(), (std::vector<ManifestRow>{other, ready}));

  ASSERT_TRUE(one->put_receiver({"b", R"({"partition":"none"})"}));
  ASSERT_TRUE(one->put_receiver({"a", "{}"}));
  ASSERT_TRUE(two->put_receiver({"b", "\"\xc3\xa9\""}));
  EXPECT_EQ(one->receivers().value(),
            (std::vector<ReceiverRow>{{"a", "{}"}, {"b", "\"\xc3\xa9\""}}));
  EXPECT_EQ(open()->manifest().value(), (std::vector<ManifestRow>{other, ready}));
}

TEST_F(SqliteCatalogTest, RootRowsArePutByKey) {
  auto opened = open_sqlite_root_catalog(path_);
  ASSERT_TRUE(opened);
  RootCatalog& root = **opened;
  ASSERT_TRUE(root.put_knowledgebase({"demo", "u-1", "file", "2026-01-01T00:00:00.000000Z"}));
  ASSERT_TRUE(root.put_knowledgebase({"acme", "u-2", "file", "2026-01-02T00:00:00.000000Z"}));
  ASSERT_TRUE(root.put_knowledgebase({"demo", "u-3", "file", "2026-01-03T00:00:00.000000Z"}));
  EXPECT_EQ(
      root.knowledgebases().value(),
      (std::vector<KnowledgebaseRow>{{"acme", "u-2", "file", "2026-01-02T00:00:00.000000Z"},
                                     {"demo", "u-3", "file", "2026-01-03T00:00:00.000000Z"}}));
  const NodeRow node{"local", "local-ab12-7", "2026-01-01T00:00:00.000000Z"};
  ASSERT_TRUE(root.put_node(node));
  ASSERT_TRUE(root.put_node(node));
  EXPECT_EQ(root.nodes().value(), (std::vector<NodeRow>{node}));
}

TEST_F(SqliteCatalogTest, WritersOfTwoHoldersThatOpenAFreshFileAtOnceLoseNothing) {
  const auto write = [this](char name) {
    const auto catalog = open();
    for (int i = 0; i < 20; ++i) {
      const auto put = catalog->put_receiver({std::string(1, name) + std::to_string(i), "{}"});
      EXPECT_TRUE(put) << put.error().detail;
    }
  };
  {
    const std::jthread one(write, 'a');
    const std::jthread two(write, 'b');
  }
  EXPECT_EQ(open()->receivers().value().size(), 40U);
}

TEST_F(SqliteCatalogTest, AtRestTheCatalogIsOneFileWithoutWal) {
  const auto catalog = open();
  ASSERT_TRUE(catalog->put_receiver({"a", "{}"}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(SqliteCatalogTest, AWriterInTheWayIsBusy) {
  sqlite3* raw = nullptr;
  auto catalog = open_sqlite_catalog(path_, std::chrono::milliseconds(1));
  ASSERT_TRUE(catalog);
  ASSERT_EQ(sqlite3_open(path_.c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto blocked = (*catalog)->put_receiver({"a", "{}"});
  ASSERT_FALSE(blocked);
  EXPECT_EQ(blocked.error().code, Code::kBusy);
  ASSERT_EQ(sqlite3_exec(raw, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_TRUE((*catalog)->put_receiver({"a", "{}"}));
  sqlite3_close(raw);
}

TEST_F(SqliteCatalogTest, ANewerSchemaIsRefusedAndLeftAlone) {
  open();
  run_outside("PRAGMA user_version = 2");
  const auto refused = open_sqlite_catalog(path_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_EQ(refused.error().message,
            "The catalog has schema version 2, and this program knows only 1: a newer Strata wrote "
            "it. Start that one.");
}

TEST_F(SqliteCatalogTest, ADamagedFileIsAnErrorUntilItIsMovedAway) {
  std::ofstream(path_) << std::string(4096, 'x');
  const auto catalog = make_sqlite_catalog(path_);
  const auto damaged = catalog->manifest();
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Code::kIo);
  EXPECT_EQ(damaged.error().message.find(folder_.string()), std::string::npos);
  std::filesystem::remove(path_);
  EXPECT_EQ(catalog->manifest().value(), std::vector<ManifestRow>{});
}

TEST_F(SqliteCatalogTest, AStateThatNobodyKnowsIsOurBug) {
  const auto refused = open()->put_manifest({"t", "stream:t", 1, "sleepy"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInternal);
}

}  // namespace
}  // namespace strata::catalog
