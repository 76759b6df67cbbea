// What every backend promises, on each of them; what only one does is in its own test file.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "catalog/postgres_catalog.h"
#include "catalog/sqlite_catalog.h"
#include "catalog/testing/postgres_server.h"

namespace strata::catalog {
namespace {

/// A place for catalogs, fresh and gone with it.
class Backend {
 public:
  virtual ~Backend() = default;
  /// One more holder of the same catalog, as another process is. Lives no longer than this.
  virtual std::unique_ptr<Catalog> holder() = 0;
  virtual std::unique_ptr<RootCatalog> root_holder() = 0;
  /// What a newer Strata leaves: schema version 2.
  virtual void write_newer_schema() = 0;
};

class SqliteBackend final : public Backend {
 public:
  SqliteBackend() { std::filesystem::create_directory(folder_); }
  ~SqliteBackend() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Catalog> holder() override { return make_sqlite_catalog(path_); }
  std::unique_ptr<RootCatalog> root_holder() override {
    return make_sqlite_root_catalog(root_path_);
  }
  void write_newer_schema() override {
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &raw), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(raw, "PRAGMA user_version = 2", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(raw);
  }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("strata-catalog-" + random_hex(8));
  const std::string path_ = (folder_ / "it's a catalog.sqlite").string();
  const std::string root_path_ = (folder_ / "root.sqlite").string();
};

class PostgresBackend final : public Backend {
 public:
  std::unique_ptr<Catalog> holder() override { return make_postgres_catalog(database(), "kb's"); }
  std::unique_ptr<RootCatalog> root_holder() override {
    return make_postgres_root_catalog(database());
  }
  void write_newer_schema() override {
    PostgresClient(place_.admin_url).run("INSERT INTO strata.schema_version VALUES (2)");
  }

 private:
  /// One a holder: processes share no connections.
  PostgresDatabase& database() {
    databases_.push_back(make_postgres_database({.url = place_.url}, clock_).value());
    return *databases_.back();
  }

  const PostgresServer::Database place_ = PostgresServer::shared().create_database();
  const SystemClock clock_;
  std::vector<std::unique_ptr<PostgresDatabase>> databases_;
};

enum class Kind : std::uint8_t { kSqlite, kPostgres };

/// The name of a test ends in it.
void PrintTo(Kind kind, std::ostream* out) {
  *out << (kind == Kind::kSqlite ? "sqlite" : "postgres");
}

class CatalogContract : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::kSqlite) {
      backend_ = std::make_unique<SqliteBackend>();
    } else {
      STRATA_SKIP_WITHOUT_POSTGRES();
      backend_ = std::make_unique<PostgresBackend>();
    }
  }

  std::unique_ptr<Backend> backend_;
};

TEST_P(CatalogContract, RowsArePutByKeyAndReadInItsOrderByEveryHolder) {
  const ManifestRow deferred{"raw_extracted.stream_b", "stream:b", std::nullopt, "deferred"};
  const ManifestRow ready{"raw_extracted.stream_b", "stream:b", 12, "ready"};
  const ManifestRow other{"raw_extracted.stream_a", "upload:it's; DROP", 0, "error"};
  const auto one = backend_->holder();
  const auto two = backend_->holder();
  ASSERT_TRUE(one->put_manifest(deferred));
  EXPECT_EQ(two->manifest().value(), (std::vector<ManifestRow>{deferred}));
  ASSERT_TRUE(two->put_manifest(ready));
  ASSERT_TRUE(two->put_manifest(other));
  EXPECT_EQ(one->manifest().value(), (std::vector<ManifestRow>{other, ready}));

  ASSERT_TRUE(one->put_receiver({"b", R"({"partition":"none"})"}));
  ASSERT_TRUE(one->put_receiver({"a", ""}));
  ASSERT_TRUE(two->put_receiver({"b", "\"\xc3\xa9\" \\'"}));
  EXPECT_EQ(one->receivers().value(),
            (std::vector<ReceiverRow>{{"a", ""}, {"b", "\"\xc3\xa9\" \\'"}}));
  EXPECT_EQ(backend_->holder()->manifest().value(), (std::vector<ManifestRow>{other, ready}));
}

TEST_P(CatalogContract, OrderIsThatOfTheBytesWhateverTheLocale) {
  const auto catalog = backend_->holder();
  const auto root = backend_->root_holder();
  const std::vector<std::string> ordered{"B", "a", "a-b", "a1", "a_b", "ab", "\xc3\xa9"};
  for (const char* name : {"a_b", "ab", "\xc3\xa9", "a", "B", "a1", "a-b"}) {
    ASSERT_TRUE(catalog->put_manifest({name, "stream:x", 1, "ready"}));
    ASSERT_TRUE(catalog->put_receiver({name, "{}"}));
    ASSERT_TRUE(root->put_knowledgebase({name, "u", "file", ""}));
    ASSERT_TRUE(root->put_node({"n", name, ""}));
  }
  const auto names = [](const auto& rows, auto member) {
    std::vector<std::string> list;
    for (const auto& row : rows.value()) list.push_back(row.*member);
    return list;
  };
  EXPECT_EQ(names(catalog->manifest(), &ManifestRow::table), ordered);
  EXPECT_EQ(names(catalog->receivers(), &ReceiverRow::stream), ordered);
  EXPECT_EQ(names(root->knowledgebases(), &KnowledgebaseRow::id), ordered);
  EXPECT_EQ(names(root->nodes(), &NodeRow::process), ordered);
}

TEST_P(CatalogContract, RootRowsArePutByKey) {
  const auto root = backend_->root_holder();
  ASSERT_TRUE(root->put_knowledgebase({"demo", "u-1", "file", "2026-01-01T00:00:00.000000Z"}));
  ASSERT_TRUE(root->put_knowledgebase({"acme", "u-2", "postgres", "2026-01-02T00:00:00.000000Z"}));
  ASSERT_TRUE(root->put_knowledgebase({"demo", "u-3", "file", "2026-01-03T00:00:00.000000Z"}));
  EXPECT_EQ(
      backend_->root_holder()->knowledgebases().value(),
      (std::vector<KnowledgebaseRow>{{"acme", "u-2", "postgres", "2026-01-02T00:00:00.000000Z"},
                                     {"demo", "u-3", "file", "2026-01-03T00:00:00.000000Z"}}));
  ASSERT_TRUE(root->remove_knowledgebase("demo"));
  ASSERT_TRUE(root->remove_knowledgebase("demo"));
  EXPECT_EQ(
      root->knowledgebases().value(),
      (std::vector<KnowledgebaseRow>{{"acme", "u-2", "postgres", "2026-01-02T00:00:00.000000Z"}}));

  ASSERT_TRUE(root->put_node({"local", "local-ab12-7", "2026-01-01T00:00:00.000000Z"}));
  const NodeRow again{"other", "local-ab12-7", "2026-01-02T00:00:00.000000Z"};
  ASSERT_TRUE(root->put_node(again));
  EXPECT_EQ(root->nodes().value(), (std::vector<NodeRow>{again}));
}

TEST_P(CatalogContract, AStreamGoesWithBothItsRowsAndNoOthers) {
  const auto catalog = backend_->holder();
  const ManifestRow other{"raw_extracted.stream_ab", "stream:ab", 1, "ready"};
  const ManifestRow upload{"tables.a", "upload:a", 1, "ready"};
  ASSERT_TRUE(catalog->put_manifest({"raw_extracted.stream_a", "stream:a", 1, "ready"}));
  ASSERT_TRUE(catalog->put_manifest(other));
  ASSERT_TRUE(catalog->put_manifest(upload));
  ASSERT_TRUE(catalog->put_receiver({"a", "{}"}));
  ASSERT_TRUE(catalog->put_receiver({"ab", "{}"}));
  for (const char* stream : {"a", "a", "never_there"}) {
    ASSERT_TRUE(catalog->remove_stream(stream));
    EXPECT_EQ(catalog->manifest().value(), (std::vector<ManifestRow>{other, upload}));
    EXPECT_EQ(catalog->receivers().value(), (std::vector<ReceiverRow>{{"ab", "{}"}}));
  }
}

TEST_P(CatalogContract, WritersOfTwoHoldersThatOpenAFreshOneAtOnceLoseNothing) {
  const auto write = [](Catalog& catalog, char name) {
    for (int i = 0; i < 20; ++i) {
      const auto put = catalog.put_receiver({std::string(1, name) + std::to_string(i), "{}"});
      EXPECT_TRUE(put) << put.error().detail;
    }
  };
  const auto first = backend_->holder();
  const auto second = backend_->holder();
  {
    const std::jthread one(write, std::ref(*first), 'a');
    const std::jthread two(write, std::ref(*second), 'b');
  }
  EXPECT_EQ(backend_->holder()->receivers().value().size(), 40U);
}

TEST_P(CatalogContract, ANewerSchemaIsRefusedByEveryCall) {
  ASSERT_TRUE(backend_->holder()->manifest());
  backend_->write_newer_schema();
  const auto catalog = backend_->holder();
  const auto refused = catalog->manifest();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_EQ(refused.error().message,
            "The catalog has schema version 2, and this program knows only 1: a newer Strata wrote "
            "it. Start that one.");
  const auto refused_write = catalog->put_receiver({"a", "{}"});
  ASSERT_FALSE(refused_write);
  EXPECT_EQ(refused_write.error().message, refused.error().message);
}

TEST_P(CatalogContract, AStateThatNobodyKnowsIsOurBug) {
  const auto catalog = backend_->holder();
  const auto refused = catalog->put_manifest({"t", "stream:t", 1, "sleepy"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInternal);
  EXPECT_EQ(catalog->manifest().value(), std::vector<ManifestRow>{});
}

INSTANTIATE_TEST_SUITE_P(Each, CatalogContract, testing::Values(Kind::kSqlite, Kind::kPostgres),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace strata::catalog
