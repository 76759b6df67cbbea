#include "stream/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "stream/index_job.h"
#include "stream/testing/stream_world.h"

namespace strata::stream {
namespace {

using ::testing::HasSubstr;

StreamId id(std::string_view text) { return StreamId::parse(text).value(); }

/// The catalog has one receiver, and `settings` among its settings.
void expect_indexed(Process& process, std::string_view settings) {
  ASSERT_OK_AND_ASSIGN(const auto rows, process.knowledgebase().catalog().receivers());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(rows.front().settings_json, HasSubstr(settings));
}

TEST(Streams, AReceiverIsInTheManifestAsSoonAsItIsThere) {
  World world;
  Process process(world);
  ASSERT_OK_AND_ASSIGN(const auto made,
                       process.streams->create(process.knowledgebase(), id("s"), {}));
  EXPECT_TRUE(made.made);
  ASSERT_OK_AND_ASSIGN(const auto rows, process.knowledgebase().catalog().manifest());
  EXPECT_EQ(rows, (std::vector<catalog::ManifestRow>{
                      {"raw_extracted.stream_s", "stream:s", std::nullopt, "deferred"}}));
  EXPECT_EQ(made.stream->view_state(), ViewState::kDeferred);
}

TEST(Streams, TheSameSettingsAgainAreTheSameReceiverOthersAConflict) {
  World world;
  Process one(world, "one");
  Process two(world, "two");
  const Receiver settings{.columns = std::vector<std::string>{"a"}};
  ASSERT_OK(one.streams->create(one.knowledgebase(), id("s"), settings));
  ASSERT_OK_AND_ASSIGN(const auto again,
                       two.streams->create(two.knowledgebase(), id("s"), settings));
  EXPECT_FALSE(again.made);
  EXPECT_CODE(Code::kConflict, two.streams->create(two.knowledgebase(), id("s"), {}));
}

TEST(Streams, AnUnknownOneNamesTheNearestAndHowToMakeOne) {
  World world;
  Process process(world);
  process.stream("weather");
  const auto unknown = process.streams->find(process.knowledgebase(), id("wether"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kUnknownStream);
  EXPECT_THAT(unknown.error().message, HasSubstr("'weather'"));
  EXPECT_THAT(unknown.error().message, HasSubstr("strata receiver create demo"));
}

TEST(Streams, OneMadeByAnotherProcessIsFound) {
  World world;
  Process one(world, "one");
  Process two(world, "two");
  one.stream("s");
  ASSERT_OK_AND_ASSIGN(const auto listed, two.streams->list(two.knowledgebase()));
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed.front()->id().str(), "s");
}

/// Ended at any file system call of a create; the next process finishes it or knows nothing of it.
TEST(Streams, ACreateMayFailAnywhereAndBeSentAgain) {
  bool fired = true;
  for (std::uint64_t n = 0; fired; ++n) {
    World world;
    const Receiver settings{.columns = std::vector<std::string>{"a"}};
    {
      Process process(world);
      kb::Knowledgebase& knowledgebase = process.knowledgebase();
      process.faults.fail_from_call(n);
      static_cast<void>(process.streams->create(knowledgebase, id("s"), settings).has_value());
      fired = process.faults.fired();
      process.faults.heal();
    }
    Process next(world);
    EXPECT_TRUE(next.streams->problems().empty());
    ASSERT_OK_AND_ASSIGN(const auto made,
                         next.streams->create(next.knowledgebase(), id("s"), settings));
    EXPECT_EQ(made.stream->columns().list(), std::vector<std::string>{"a"});
    EXPECT_TRUE(next.land(*made.stream, "b", "{\"a\":1}\n"));
  }
}

ReceiverChange columns_to(std::optional<std::vector<std::string>> columns) {
  return {.columns = std::move(columns)};
}

TEST(Streams, AChangeHoldsInAnotherProcessFromItsNextLookOn) {
  World world;
  Process one(world, "one");
  Process two(world, "two");
  Stream& stream = one.stream("s", {.columns = std::vector<std::string>{"a"}});
  ASSERT_OK_AND_ASSIGN(Stream* const seen, two.streams->find(two.knowledgebase(), id("s")));
  EXPECT_FALSE(two.land(*seen, "b1", "{\"b\":1}\n"));
  ASSERT_OK(
      one.streams->change(stream, columns_to(std::vector<std::string>{"a", "b"}), one.workers));
  one.indexes->wait_for_tries();
  ASSERT_OK_AND_ASSIGN(Stream* const again, two.streams->find(two.knowledgebase(), id("s")));
  EXPECT_EQ(again, seen);
  EXPECT_TRUE(two.land(*again, "b1", "{\"b\":1}\n"));
  two.indexes->wait_for_tries();
  expect_indexed(two, R"("columns":["a","b"])");
}

TEST(Streams, SettingsThatAreIndexedLateAreTheNewest) {
  World world;
  Process one(world, "one");
  Process two(world, "two");
  Stream& stream = one.stream("s", {.columns = std::vector<std::string>{"a"}});
  ASSERT_OK_AND_ASSIGN(Stream* const seen, two.streams->find(two.knowledgebase(), id("s")));
  two.indexes->wait_for_tries();
  ASSERT_OK(
      one.streams->change(stream, columns_to(std::vector<std::string>{"a", "b"}), one.workers));
  one.indexes->wait_for_tries();
  ASSERT_OK(index(*seen));
  expect_indexed(two, R"("columns":["a","b"])");
}

TEST(Streams, ALookServesRequestsThatCameBeforeItAndNoOther) {
  World world;
  Process one(world, "one");
  Process two(world, "two");
  Stream& stream = one.stream("s");
  ASSERT_OK(two.streams->find(two.knowledgebase(), id("s")));  // opens it; the next one looks
  const SteadyTime early = world.clock.steady();
  ASSERT_OK_AND_ASSIGN(Stream* const seen, two.streams->find(two.knowledgebase(), id("s")));
  EXPECT_EQ(two.streams->find_looked_at_since("demo", "s", early), seen);
  world.clock.advance(std::chrono::nanoseconds(1));
  EXPECT_EQ(two.streams->find_looked_at_since("demo", "s", world.clock.steady()), nullptr);
  ASSERT_OK(one.streams->remove(stream));
  EXPECT_EQ(one.streams->find_looked_at_since("demo", "s", early), nullptr);
  EXPECT_CODE(Code::kUnknownStream, two.streams->find(two.knowledgebase(), id("s")));
  EXPECT_EQ(two.streams->find_looked_at_since("demo", "s", early), nullptr);
}

TEST(Streams, NoOfTwoChangesAtOnceIsLost) {
  World world;
  Process one(world, "one");
  Process two(world, "two");
  Stream& mine = one.stream("s");
  ASSERT_OK_AND_ASSIGN(Stream* const yours, two.streams->find(two.knowledgebase(), id("s")));
  ASSERT_OK(one.streams->change(mine, {.max_body_bytes = 5}, one.workers));
  ASSERT_OK(two.streams->change(*yours, columns_to(std::vector<std::string>{"a"}), two.workers));
  EXPECT_EQ(yours->receiver().max_body_bytes, 5U);
  EXPECT_EQ(yours->receiver().columns, std::vector<std::string>{"a"});
  EXPECT_EQ(yours->settings().number, 3U);
}

TEST(Streams, ADeletedStreamIsKeptAsideAndItsNameIsFree) {
  World world;
  Process process(world);
  Stream& stream = process.stream("s");
  ASSERT_TRUE(process.land(stream, "b", "{\"a\":1}\n"));
  ASSERT_OK_AND_ASSIGN(const std::string moved, process.streams->remove(stream));
  EXPECT_THAT(moved, ::testing::StartsWith("strata/streams/.deleted/s.20260629T000000Z."));
  EXPECT_TRUE(std::filesystem::exists(world.root + "/kb/demo/" + moved + "/data/b.parquet"));
  EXPECT_CODE(Code::kUnknownStream, process.streams->find(process.knowledgebase(), id("s")));
  EXPECT_CODE(Code::kUnknownStream, process.streams->remove(stream));
  ASSERT_OK_AND_ASSIGN(const auto rows, process.knowledgebase().catalog().manifest());
  EXPECT_TRUE(rows.empty());
  const auto late = process.land(stream, "c", "{\"a\":1}\n");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().error.code, Code::kUnknownStream);
  Stream& anew = process.stream("s");
  EXPECT_EQ(anew.numbers().totals(), Totals());
  EXPECT_TRUE(process.land(anew, "b", "{\"z\":2}\n"));
}

/// The other process has passed its look at the stream when the folder moves.
TEST(Streams, ABatchUnderWayInAnotherProcessIsNotAcknowledgedOnceTheFolderMoved) {
  World world;
  Process one(world, "one");
  Process two(world, "two");
  Stream& stream = one.stream("s");
  ASSERT_OK_AND_ASSIGN(Stream* const stale, two.streams->find(two.knowledgebase(), id("s")));
  ASSERT_TRUE(two.land(*stale, "b1", "{\"a\":1}\n"));
  ASSERT_OK(one.streams->remove(stream));
  const auto refused_with_503 = [&](const std::string& batch) {
    const auto landed = two.land(*stale, batch, "{\"a\":1}\n");
    return !landed && landed.error().error.code == Code::kIo;
  };
  EXPECT_TRUE(refused_with_503("b2"));
  EXPECT_TRUE(refused_with_503("b1"));  // nor is a replay
  one.stream("s");
  EXPECT_TRUE(refused_with_503("b3"));
  EXPECT_TRUE(refused_with_503("b1"));
  EXPECT_FALSE(two.root->degraded());
  two.streams->tick();
  ASSERT_OK_AND_ASSIGN(Stream* const anew, two.streams->find(two.knowledgebase(), id("s")));
  EXPECT_NE(anew, stale);
  EXPECT_EQ(anew->numbers().totals(), Totals());
  EXPECT_TRUE(two.land(*anew, "b1", "{\"a\":1}\n"));
}

/// Whatever call of a delete fails, the stream is whole: in its place or aside.
TEST(Streams, ADeleteMayFailAnywhereAndLosesNothing) {
  bool fired = true;
  for (std::uint64_t n = 0; fired; ++n) {
    World world;
    bool done = false;
    {
      Process process(world);
      Stream& stream = process.stream("s");
      ASSERT_TRUE(process.land(stream, "b", "{\"a\":1}\n"));
      process.faults.fail_from_call(n);
      done = process.streams->remove(stream).has_value();
      fired = process.faults.fired();
      process.faults.heal();
    }
    Process next(world);
    EXPECT_TRUE(next.streams->problems().empty());
    const auto found = next.streams->find(next.knowledgebase(), id("s"));
    std::size_t aside = 0;
    const std::string deleted = world.root + "/kb/demo/strata/streams/.deleted";
    if (std::filesystem::exists(deleted)) {
      for (const auto& entry : std::filesystem::directory_iterator(deleted)) {
        EXPECT_TRUE(std::filesystem::exists(entry.path() / "data/b.parquet"));
        ++aside;
      }
    }
    EXPECT_EQ(aside + (found ? 1 : 0), 1U) << n;
    EXPECT_FALSE(done && found) << n;
    if (found) {
      EXPECT_EQ((*found)->numbers().totals().rows, 1U) << n;
      ASSERT_OK_AND_ASSIGN(const auto rows, next.knowledgebase().catalog().manifest());
      EXPECT_EQ(rows.size(), 1U) << n;
    }
  }
}

TEST(Streams, AKbThatWasDeletedIsUnknownToBothAndItsNameIsFree) {
  World world;
  Process one(world, "one");
  Process two(world, "two");
  Stream& mine = one.stream("s");
  ASSERT_OK_AND_ASSIGN(Stream* const yours, two.streams->find(two.knowledgebase(), id("s")));
  ASSERT_TRUE(two.land(*yours, "b", "{\"a\":1}\n"));
  kb::Knowledgebase* const old = &two.knowledgebase();
  ASSERT_OK_AND_ASSIGN(const std::string moved, one.streams->remove(one.knowledgebase()));
  EXPECT_THAT(moved, ::testing::StartsWith("kb/.deleted/demo.20260629T000000Z."));
  EXPECT_CODE(Code::kUnknownKnowledgebase, two.kbs->find(Process::kb_id()));
  EXPECT_FALSE(one.land(mine, "c", "{\"a\":1}\n"));
  EXPECT_FALSE(two.land(*yours, "c", "{\"a\":1}\n"));
  ASSERT_OK_AND_ASSIGN(kb::Knowledgebase* const anew, two.kbs->create(Process::kb_id(), "file"));
  EXPECT_NE(anew, old);
  EXPECT_NE(anew->uuid(), old->uuid());
  EXPECT_CODE(Code::kUnknownStream, two.streams->find(*anew, id("s")));
  EXPECT_CODE(Code::kUnknownStream, one.streams->find(one.knowledgebase(), id("s")));
  EXPECT_TRUE(
      std::filesystem::exists(world.root + "/" + moved + "/strata/streams/s/data/b.parquet"));
}

TEST(ViewDdl, IsTheOneArchitectureNames) {
  World world;
  world.root += "/it's [a] *root*";
  Process process(world);
  const std::string escaped =
      std::filesystem::path(world.root).parent_path().string() + "/it''s [[]a] [*]root[*]";
  EXPECT_EQ(view_ddl(process.stream("s")).str(),
            "CREATE OR REPLACE VIEW raw_extracted.\"stream_s\" AS SELECT * EXCLUDE (filename, "
            "_batch_id), filename, _batch_id FROM read_parquet('" +
                escaped +
                "/kb/demo/strata/streams/s/data/**/*.parquet', union_by_name=true, filename=true, "
                "hive_partitioning=false)");
}

}  // namespace
}  // namespace strata::stream
