#include <gtest/gtest.h>

#include "ontology/profiler.h"
#include "ontology/sql_evidence.h"
#include "ontology/synthesise.h"
#include "ontology/testing/sample_streams.h"
#include "ontology/testing/table_world.h"

namespace strata::ontology {
namespace {

class BothEvidencesTest : public TableWorld {};

Profile without_batches(Profile profile) {
  profile.table.clear();
  for (ColumnProfile& column : profile.columns) {
    for (FailedCell& cell : column.failed) cell.batch.clear();
  }
  return profile;
}

/// The SQL and the tests' own counting, written by two hands, agree.
TEST_F(BothEvidencesTest, GiveOneProfileAndOneModel) {
  for (const SampleStream& clean : {compensation(), payroll_export(), sensors(), order_lines(),
                                    orders(), telemetry(), clickstream(), inventory_snapshots()}) {
    const SampleStream stream =
        with_noise(clean, {.seed = 1, .nulls_percent = 3, .typos_percent = 2});
    std::vector<BatchRow> rows;
    for (const auto& row : stream.rows) rows.push_back({"b1", row});
    const FrozenTable table = frozen(stream.columns, rows);
    const auto profile = profile_table(bench(), table);
    ASSERT_TRUE(profile) << profile.error().detail;
    const ProfiledRows own(stream.columns, stream.rows);
    EXPECT_EQ(to_json(without_batches(*profile)), to_json(without_batches(own.profile())))
        << stream.name;
    SqlEvidence evidence(bench(), table, *profile);
    const auto model =
        synthesise(*profile, evidence,
                   {.kb_uuid = "6ba7b810-9dad-11d1-80b4-00c04fd430c8", .stream_name = stream.name});
    ASSERT_TRUE(model) << model.error().detail;
    EXPECT_EQ(summary(*model), summary(model_of(stream))) << stream.name;
    EXPECT_EQ(to_json(*model), to_json(model_of(stream))) << stream.name;
  }
}

}  // namespace
}  // namespace strata::ontology
