#include "stream/index_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
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

  /// Runs `work` once when the process comes to ask the catalog, after it looked whether the folder
  /// `stream` is there.
  void between_look_and_catalog(const std::string& stream, const std::function<void()>& work) {
    process_.faults.set_observer([this, stream, work](const io::FileCall& call) {
      looked_ = looked_ || call.name == stream || call.directory.ends_with("/" + stream);
      if (looked_ && call.name == "backend" && !done_.exchange(true)) work();
    });
  }
  std::vector<std::string> sources() {
    std::vector<std::string> sources;
    for (const catalog::ManifestRow& row : rows()) sources.push_back(row.source);
    return sources;
  }
  std::vector<std::string> receivers() {
    std::vector<std::string> streams;
    const auto found = process_.knowledgebase().catalog().receivers().value();
    for (const catalog::ReceiverRow& row : found) streams.push_back(row.stream);
    return streams;
  }

  World world_;
  std::atomic<bool> looked_ = false;
  std::atomic<bool> done_ = false;
  Process process_{world_};
  Process other_{world_, "other"};
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

TEST_F(IndexJobTest, RowsPutAfterTheStreamWasMovedAsideAreTakenAway) {
  Stream& stream = process_.stream("s");
  between_look_and_catalog("s", [this] { EXPECT_OK(other_.streams->remove(other_.stream("s"))); });
  process_.indexes->want(stream);
  process_.indexes->wait_for_tries();
  EXPECT_TRUE(done_);
  process_.streams->tick();
  EXPECT_THAT(sources(), testing::IsEmpty());
  EXPECT_THAT(receivers(), testing::IsEmpty());
}

TEST_F(IndexJobTest, AReceiversRowWithoutAStreamGoesToo) {
  ASSERT_OK(process_.knowledgebase().catalog().put_receiver({"gone", "{}"}));
  ASSERT_OK(process_.streams->remove(process_.stream("s")));
  EXPECT_THAT(receivers(), testing::IsEmpty());
}

TEST_F(IndexJobTest, OneMadeAnewWhileItsForerunnersRowsAreTakenAwayKeepsItsRows) {
  Stream& trigger = process_.stream("s");
  std::filesystem::rename(other_.stream("t").publisher().stream().path(),
                          world_.temp.path() + "/t");
  between_look_and_catalog("t", [this] { other_.stream("t"); });
  ASSERT_OK(process_.streams->remove(trigger));
  EXPECT_TRUE(done_);
  process_.indexes->wait_for_tries();
  EXPECT_THAT(receivers(), testing::ElementsAre("t"));
  EXPECT_THAT(sources(), testing::ElementsAre("stream:t"));
}

TEST_F(IndexJobTest, ADeleteThatComesTooLateLeavesTheRowsOfOneMadeAnewElsewhere) {
  Stream& forerunner = process_.stream("s");
  ASSERT_OK(other_.streams->remove(other_.stream("s")));
  other_.stream("s");
  EXPECT_CODE(Code::kUnknownStream, process_.streams->remove(forerunner));
  process_.indexes->wait_for_tries();
  EXPECT_THAT(receivers(), testing::ElementsAre("s"));
  EXPECT_THAT(sources(), testing::ElementsAre("stream:s"));
}

TEST_F(IndexJobTest, ACreateThatTheCatalogFailedHasItsRowsLater) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(catalog_file().c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_CODE(Code::kBusy,
              process_.streams->create(process_.knowledgebase(), StreamId::parse("s").value(), {}));
  ASSERT_EQ(sqlite3_exec(raw, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(raw);
  process_.indexes->wait_for_tries();
  EXPECT_THAT(sources(), testing::ElementsAre("stream:s"));
}

}  // namespace
}  // namespace strata::stream
