#include "stream/rejects.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/limits.h"
#include "stream/testing/stream_world.h"

namespace strata::stream {
namespace {

class RejectsTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const {
    return world_.root + "/kb/demo/strata/streams/s/failed/" + name;
  }
  void keep(Stream& stream, const std::string& name, const std::string& body) {
    ASSERT_OK(stream.rejects().keep({.name = name, .body = body, .reason_json = "{}"}));
  }

  World world_;
};

TEST_F(RejectsTest, ASecondRejectionOfAnIdReplacesTheFirst) {
  Process process(world_);
  Stream& stream = process.stream("s");
  keep(stream, "a", "first");
  keep(stream, "a", "second one");
  EXPECT_EQ(stream.rejects().kept().count, 1U);
  EXPECT_EQ(stream.rejects().kept().bytes, 10U);
  EXPECT_TRUE(std::filesystem::exists(path("a.err")));
}

TEST_F(RejectsTest, TheOldestGoesWhenThereAreTooMany) {
  Process process(world_);
  Stream& stream = process.stream("s");
  for (std::size_t i = 0; i < limits::kFailedCountMax + 1; ++i) {
    keep(stream, "r" + std::to_string(1000 + i), "x");
  }
  EXPECT_EQ(stream.rejects().kept().count, limits::kFailedCountMax);
  EXPECT_EQ(stream.rejects().kept().dropped, 1U);
  EXPECT_FALSE(std::filesystem::exists(path("r1000.ndjson")));
  EXPECT_FALSE(std::filesystem::exists(path("r1000.err")));
  EXPECT_TRUE(std::filesystem::exists(path("r2000.ndjson")));
}

TEST_F(RejectsTest, TheOldestGoesWhenTheyAreTooLarge) {
  Process process(world_);
  Stream& stream = process.stream("s");
  const std::string third(limits::kFailedBytesMax / 3 + 1, 'x');
  for (const char* name : {"a", "b", "c"}) keep(stream, name, third);
  EXPECT_EQ(stream.rejects().kept().count, 2U);
  EXPECT_FALSE(std::filesystem::exists(path("a.ndjson")));
}

TEST_F(RejectsTest, SeesWhatAnotherProcessKept) {
  Process one(world_, "one");
  Process two(world_, "two");
  Stream& stream = one.stream("s");
  keep(two.stream("s"), "a", "x");
  EXPECT_EQ(stream.rejects().kept().count, 1U);
}

}  // namespace
}  // namespace strata::stream
