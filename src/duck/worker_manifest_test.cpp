#include "duck/worker_manifest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "duck/handles.h"
#include "duck/worker_connection.h"

namespace strata::duck {
namespace {

class WorkerManifestTest : public testing::Test {
 protected:
  WorkerManifestTest() {
    EXPECT_EQ(duckdb_open(":memory:", database_.out()), DuckDBSuccess);
    EXPECT_EQ(duckdb_connect(database_.get(), connection_.out()), DuckDBSuccess);
  }

  Database database_;
  Connection connection_;
};

TEST_F(WorkerManifestTest, HoldsWhatItIsGivenWhateverTheTextsAre) {
  const std::string strange = "a'b\"c; DROP TABLE x --";
  ASSERT_TRUE(make_manifest_table(
      connection_.get(),
      {{.table = "raw_extracted.stream_a", .source = "stream:a", .rows = 7, .state = "ready"},
       {.table = strange, .source = "upload:x", .rows = std::nullopt, .state = "deferred"}}));
  const auto rows =
      run_for_text(connection_.get(),
                   Sql("SELECT \"table\", source, COALESCE(\"rows\"::VARCHAR, 'none'), state "
                       "FROM _strata_manifest"),
                   4);
  ASSERT_TRUE(rows) << rows.error().detail;
  const std::vector<std::vector<std::string>> expected = {
      {"raw_extracted.stream_a", "stream:a", "7", "ready"},
      {strange, "upload:x", "none", "deferred"}};
  EXPECT_EQ(*rows, expected);
}

TEST_F(WorkerManifestTest, IsThereWithoutRowsAndForItsConnectionOnly) {
  ASSERT_TRUE(make_manifest_table(connection_.get(), {}));
  const Sql count("SELECT count(*)::VARCHAR FROM main._strata_manifest");
  const auto rows = run_for_text(connection_.get(), count, 1);
  ASSERT_TRUE(rows) << rows.error().detail;
  EXPECT_EQ((*rows)[0][0], "0");
  Connection other;
  ASSERT_EQ(duckdb_connect(database_.get(), other.out()), DuckDBSuccess);
  EXPECT_FALSE(run_for_text(other.get(), count, 1));
}

}  // namespace
}  // namespace strata::duck
