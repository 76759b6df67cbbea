#include "stream/batches.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "stream/column_profile.h"
#include "stream/testing/stream_world.h"

namespace strata::stream {
namespace {

class BatchesTest : public ::testing::Test {
 protected:
  std::string data(const std::string& name) const {
    return world_.root + "/kb/demo/strata/streams/s/data/" + name;
  }
  /// Lands a batch whose file is `age` seconds old on a scale of its own.
  void land(Process& process, const std::string& id, const std::string& body, int age) {
    ASSERT_TRUE(process.land(process.stream("s"), id, body)) << id;
    const timespec times[2] = {{100'000 - age, 0}, {100'000 - age, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, data(id + ".parquet").c_str(), times, 0), 0);
  }
  static std::vector<std::string> ids(const BatchPage& page) {
    std::vector<std::string> all;
    for (const io::BatchFacts& facts : page.batches) all.push_back(facts.batch_id);
    return all;
  }
  using Ids = std::vector<std::string>;

  World world_;
};

TEST_F(BatchesTest, ArePagedFromTheNewestAndAnEqualAgeGoesById) {
  Process process(world_);
  Stream& stream = process.stream("s");
  land(process, "old", "{\"a\":1}\n", 3);
  land(process, "b2", "{\"a\":1}\n{\"a\":2}\n", 2);
  land(process, "b1", "{\"a\":1}\n", 2);
  land(process, "new", "{\"a\":1}\n", 1);
  const auto first = list_batches(process.faults, stream, 2, std::nullopt).value();
  EXPECT_EQ(ids(first), (Ids{"new", "b2"}));
  EXPECT_EQ(first.batches[1].rows, 2U);
  EXPECT_EQ(first.next, "b2");
  // What lands meanwhile does not move the pages behind it.
  land(process, "newest", "{\"a\":1}\n", 0);
  const auto second =
      list_batches(process.faults, stream, 2, BatchId::parse(*first.next).value()).value();
  EXPECT_EQ(ids(second), (Ids{"b1", "old"}));
  EXPECT_EQ(second.next, std::nullopt);
  EXPECT_EQ(list_batches(process.faults, stream, 2, BatchId::parse("none").value()).error().code,
            Code::kNotFound);
}

TEST_F(BatchesTest, StrangersInTheFolderAreNoneNorIsTheAnchor) {
  Process process(world_);
  Stream& stream = process.stream("s");
  land(process, "a", "{\"a\":1}\n", 2);
  std::filesystem::copy_file(data("a.parquet"), data("copy.parquet"));
  std::ofstream(data("text.parquet")) << "no Parquet";
  ASSERT_TRUE(std::filesystem::exists(data(".schema.parquet")));
  const auto page = list_batches(process.faults, stream, 1, std::nullopt).value();
  EXPECT_EQ(ids(page), Ids{"a"});
  EXPECT_EQ(page.next, std::nullopt);
}

TEST_F(BatchesTest, APageReadsTheFootersOfThePageAlone) {
  Process process(world_);
  for (int i = 0; i < 5; ++i) land(process, "b" + std::to_string(i), "{\"a\":1}\n", i);
  std::ofstream(data("b4.parquet")) << "damaged";  // the oldest, were it not for its new age
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, data("b4.parquet").c_str(), times, 0), 0);
  const auto page = list_batches(process.faults, process.stream("s"), 3, std::nullopt).value();
  EXPECT_EQ(ids(page), (Ids{"b0", "b1", "b2"}));
}

TEST_F(BatchesTest, OneIsFoundByItsClaimWhereverItsRowsAre) {
  Process process(world_);
  Stream& stream = process.stream("s");
  land(process, "a", "{\"a\":1}\n", 0);
  const auto found = find_batch(process.faults, stream, BatchId::parse("a").value()).value();
  EXPECT_EQ(found.facts.rows, 1U);
  EXPECT_EQ(found.where, "data/a.parquet");
  std::filesystem::remove(data("a.parquet"));
  EXPECT_EQ(find_batch(process.faults, stream, BatchId::parse("a").value()).value().where,
            std::nullopt);
  EXPECT_EQ(find_batch(process.faults, stream, BatchId::parse("b").value()).error().code,
            Code::kNotFound);
}

TEST_F(BatchesTest, ColumnsAreCountedFromTheFooters) {
  Process process(world_);
  Stream& stream = process.stream("s");
  const std::string longest(300, 'y');
  land(process, "z-first", "{\"a\":\"1\",\"b\":null}\n{\"a\":\"\",\"b\":null}\n", 3);
  land(process, "second", "{\"b\":\"x\",\"c\":\"" + longest + "\"}\n", 2);
  land(process, "a-third", "{\"a\":\"9\"}\n", 1);
  const StreamProfile profile = profile_columns(process.faults, stream).value();
  EXPECT_EQ(profile.rows, 4U);
  EXPECT_EQ(profile.files, 3U);
  EXPECT_TRUE(profile.complete());
  ASSERT_EQ(profile.columns.size(), 3U);
  EXPECT_EQ(profile.columns[0].name, "a");
  EXPECT_EQ(profile.columns[0].filled, 3U);
  EXPECT_EQ(profile.columns[0].samples, (Ids{"", "1", "9"}));
  EXPECT_EQ(profile.columns[0].first_batch, "z-first");
  EXPECT_EQ(profile.columns[1].filled, 1U);
  EXPECT_EQ(profile.columns[1].first_batch, "second");
  ASSERT_EQ(profile.columns[2].samples.size(), 1U);  // cut, by the writer or here
  EXPECT_TRUE(longest.starts_with(profile.columns[2].samples[0]));
  EXPECT_LE(profile.columns[2].samples[0].size(), kSampleBytesMax);
  EXPECT_GE(profile.columns[2].samples[0].size(), 60U);
}

TEST_F(BatchesTest, AFooterOfManyColumnsIsReadToo) {
  Process process(world_);
  std::string body = "{\"c0\":1";
  for (int i = 1; i < 1000; ++i) body += ",\"column_number_" + std::to_string(i) + "\":\"value\"";
  land(process, "wide", body + "}\n", 0);
  const StreamProfile profile = profile_columns(process.faults, process.stream("s")).value();
  EXPECT_TRUE(profile.complete());
  ASSERT_EQ(profile.columns.size(), 1000U);
  for (const ColumnProfile& column : profile.columns) EXPECT_EQ(column.filled, 1U) << column.name;
}

TEST_F(BatchesTest, AFileThatCannotBeReadMakesTheProfileIncomplete) {
  Process process(world_);
  Stream& stream = process.stream("s");
  land(process, "a", "{\"a\":1}\n", 2);
  land(process, "b", "{\"a\":2,\"b\":3}\n", 1);
  std::ofstream(data("a.parquet")) << "damaged";
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, data("a.parquet").c_str(), times, 0), 0);
  const StreamProfile profile = profile_columns(process.faults, stream).value();
  EXPECT_EQ(profile.files, 2U);
  EXPECT_EQ(profile.files_read, 1U);
  EXPECT_FALSE(profile.complete());
  EXPECT_EQ(profile.rows, 1U);
  EXPECT_EQ(profile.columns[0].first_batch, std::nullopt);
}

}  // namespace
}  // namespace strata::stream
