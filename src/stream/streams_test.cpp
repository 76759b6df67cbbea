#include "stream/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream/testing/stream_world.h"

namespace strata::stream {
namespace {

using ::testing::HasSubstr;

StreamId id(std::string_view text) { return StreamId::parse(text).value(); }

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
      process.faults.fail_from_call(n);
      static_cast<void>(
          process.streams->create(process.knowledgebase(), id("s"), settings).has_value());
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
