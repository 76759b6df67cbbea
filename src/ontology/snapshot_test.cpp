#include "ontology/snapshot.h"

#include <gtest/gtest.h>

#include "ontology/testing/table_world.h"

namespace strata::ontology {
namespace {

class SnapshotTest : public TableWorld {};

TEST_F(SnapshotTest, HasTheColumnsInTheirOrderThenWhereARowCameFrom) {
  write_rows({"b", "a"}, {{"b1", {"1", "x"}}, {"b1", {"2", std::nullopt}}});
  write_rows({"a", "late \"c\""}, {{"b2", {" y ", "z"}}});
  const FrozenTable table = freeze_written({"a", "b", "late \"c\""});
  EXPECT_EQ(table.id.str(), "demo/stream:pay");
  EXPECT_EQ(table.rows, 3U);
  EXPECT_EQ(table.file, (folder() / "snapshot.parquet").string());
  const std::string first = folder() / "data/b1.parquet";
  const std::string second = folder() / "data/b2.parquet";
  const std::vector<duck::TextRow> expected = {
      {"x", "1", std::nullopt, first, "b1"},
      {std::nullopt, "2", std::nullopt, first, "b1"},
      {" y ", std::nullopt, "z", second, "b2"},
  };
  EXPECT_EQ(rows(duck::Sql("FROM ").append(table.relation()).raw(" ORDER BY _batch_id, b")),
            expected);
  // What lands afterwards is not in it.
  write_rows({"a"}, {{"b3", {"late"}}});
  EXPECT_EQ(rows(duck::Sql("SELECT count(*) FROM ").append(table.relation())).at(0).at(0), "3");
}

TEST_F(SnapshotTest, AnEmptyTableIsOneToo) {
  write_batch("b1", duck::Sql("SELECT 'x' AS a, 'b1' AS _batch_id WHERE false"));
  EXPECT_EQ(freeze_written({"a"}).rows, 0U);
}

TEST_F(SnapshotTest, MoreRowsThanCanBeCountedAreRefusedBeforeTheyAreCopied) {
  const duck::Sql large("(SELECT 'x' AS a, '' AS filename, '' AS _batch_id FROM range(11000001))");
  const auto frozen = freeze(bench(), {kTable, large, {"a"}}, folder());
  ASSERT_FALSE(frozen);
  EXPECT_EQ(frozen.error().code, Code::kBadRequest);
  EXPECT_EQ(frozen.error().message,
            "the table has 11000001 rows, and ontology is applied to at most 11000000 at a time: "
            "send what belongs together to a stream of its own");
  EXPECT_FALSE(std::filesystem::exists(folder() / "snapshot.parquet"));
}

}  // namespace
}  // namespace strata::ontology
