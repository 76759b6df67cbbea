#include "catalog/sqlite_catalog.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <iterator>

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

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("strata-catalog-" + random_hex(8));
  const std::string path_ = (folder_ / "it's a catalog.sqlite").string();
};

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

}  // namespace
}  // namespace strata::catalog
