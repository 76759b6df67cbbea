#include "stream/index_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>
#include <thread>
#include <vector>

#include "stream/testing/stream_world.h"

namespace strata::stream {
namespace {

using namespace std::chrono_literals;

class IndexJobTest : public testing::Test {
 protected:
  std::string catalog_file() { return process_.knowledgebase().folder() + "/catalog.sqlite"; }
  std::vector<catalog::ManifestRow> rows() {
    return process_.knowledgebase().catalog().manifest().value();
  }

  World world_;
  Process process_{world_};
};

TEST_F(IndexJobTest, AStreamThatIsMetHasItsRowsAndThenItsStateInThem) {
  Stream& stream = process_.stream("s");
  ASSERT_OK(process_.knowledgebase().catalog().remove_stream("s"));
  process_.indexes->want(stream);
  process_.indexes->wait_for_tries();
  EXPECT_EQ(rows().front().state, "deferred");
  stream.set_view_ready();
  process_.indexes->want(stream);
  process_.indexes->wait_for_tries();
  EXPECT_THAT(rows(), testing::ElementsAre(catalog::ManifestRow{
                          "raw_extracted.stream_s", "stream:s", std::nullopt, "ready"}));
}

TEST_F(IndexJobTest, ACatalogThatIsAwayIsTriedUntilItIsBack) {
  Stream& stream = process_.stream("s");
  ASSERT_OK(process_.knowledgebase().catalog().remove_stream("s"));
  // Another program holds the file for longer than a call waits.
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(catalog_file().c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  process_.indexes->want(stream);
  process_.indexes->wait_for_tries();
  ASSERT_EQ(sqlite3_exec(raw, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(raw);
  while (rows().empty()) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(rows().front().source, "stream:s");
}

TEST_F(IndexJobTest, OneThatWasMovedAsideGetsNoRows) {
  Stream& stream = process_.stream("s");
  ASSERT_OK(process_.streams->remove(stream));
  process_.indexes->want(stream);
  process_.indexes->wait_for_tries();
  EXPECT_TRUE(rows().empty());
}

}  // namespace
}  // namespace strata::stream
