#include "stream/rejects.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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

  static BatchId id(const std::string& name) { return BatchId::parse(name).value(); }

  World world_;
};

TEST_F(RejectsTest, ASecondRejectionOfAnIdReplacesTheFirst) {
  Process process(world_);
  Stream& stream = process.stream("s");
  keep(stream, "a", "first");
  keep(stream, "a", "second one");
  EXPECT_EQ(stream.rejects().kept().count, 1U);
  EXPECT_EQ(stream.rejects().kept().bytes, 12U);  // the reasons too
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
  EXPECT_EQ(Process(world_, "later").stream("s").rejects().kept().dropped, 1U);
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

TEST_F(RejectsTest, ReasonsCountTowardsTheCapAndOneBeyondItIsNotKept) {
  Process process(world_);
  Stream& stream = process.stream("s");
  keep(stream, "small", "x");
  const std::string whole(limits::kFailedBytesMax - 1, 'x');
  keep(stream, "huge", whole);
  EXPECT_TRUE(std::filesystem::exists(path("small.ndjson")));
  EXPECT_FALSE(std::filesystem::exists(path("huge.ndjson")));
  EXPECT_EQ(stream.rejects().kept().dropped, 1U);
  const std::string half(limits::kFailedBytesMax / 2 - 2, 'x');
  keep(stream, "a", half);
  keep(stream, "b", half);  // with their reasons exactly the cap
  EXPECT_EQ(stream.rejects().kept().count, 2U);
  EXPECT_EQ(stream.rejects().kept().bytes, limits::kFailedBytesMax);
  EXPECT_FALSE(std::filesystem::exists(path("small.ndjson")));
}

TEST_F(RejectsTest, ArePagedFromTheNewest) {
  Process process(world_);
  Stream& stream = process.stream("s");
  // Their age is a file's, which a fast machine makes equal: then it goes by name.
  for (const char* name : {"a", "b", "c", "d", "e"}) keep(stream, name, name);
  const auto names = [](const Rejects::Page& page) {
    std::string all;
    for (const Rejects::Entry& entry : page.entries) all += entry.name;
    return all;
  };
  const auto first = stream.rejects().page(2, std::nullopt).value();
  EXPECT_EQ(names(first), "ed");
  EXPECT_EQ(first.next, "d");
  const auto second = stream.rejects().page(2, id("d")).value();
  EXPECT_EQ(names(second), "cb");
  const auto last = stream.rejects().page(2, id("b")).value();
  EXPECT_EQ(names(last), "a");
  EXPECT_EQ(last.next, std::nullopt);
  EXPECT_EQ(last.entries[0].reason_json, "{}");
  EXPECT_EQ(last.entries[0].body_bytes, 1U);
  EXPECT_CODE(Code::kNotFound, stream.rejects().page(2, id("x")));
}

TEST_F(RejectsTest, ABodyIsReadInPiecesAndNeverMixedWithItsReplacement) {
  Process process(world_);
  Stream& stream = process.stream("s");
  std::string body;
  for (int i = 0; body.size() < 600'000; ++i) body += std::to_string(i);
  keep(stream, "a", body);
  auto reader = stream.rejects().open_body(id("a")).value();
  std::string read;
  for (std::string piece = reader.next().value(); !piece.empty(); piece = reader.next().value()) {
    read += piece;
  }
  EXPECT_EQ(read, body);
  auto cut = stream.rejects().open_body(id("a")).value();
  EXPECT_OK(cut.next());
  keep(stream, "a", std::string(body.size(), 'x'));
  EXPECT_CODE(Code::kConflict, cut.next());
}

TEST_F(RejectsTest, OneThatIsRemovedIsGone) {
  Process process(world_);
  Stream& stream = process.stream("s");
  keep(stream, "a", "x");
  EXPECT_OK(stream.rejects().find(id("a")));
  EXPECT_OK(stream.rejects().remove(id("a")));
  EXPECT_CODE(Code::kNotFound, stream.rejects().find(id("a")));
  EXPECT_CODE(Code::kNotFound, stream.rejects().remove(id("a")));
  EXPECT_FALSE(std::filesystem::exists(path("a.err")));
  EXPECT_EQ(stream.rejects().kept().count, 0U);
  EXPECT_EQ(stream.rejects().kept().dropped, 0U);
}

TEST_F(RejectsTest, WhatIsNotOursIsNoReject) {
  Process process(world_);
  Stream& stream = process.stream("s");
  keep(stream, "a", "x");
  std::ofstream(path(".hidden.ndjson")) << "x";
  std::ofstream(path("notes.txt")) << "x";
  std::ofstream(path("alone.err")) << "reasons without a body";
  EXPECT_EQ(stream.rejects().kept().count, 1U);
  EXPECT_EQ(stream.rejects().page(10, std::nullopt).value().entries.size(), 1U);
  EXPECT_CODE(Code::kNotFound, stream.rejects().find(id("alone")));
}

}  // namespace
}  // namespace strata::stream
