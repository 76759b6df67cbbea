#include "io/testing/faulty_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "io/testing/expect.h"
#include "io/testing/mem_file_system.h"

namespace strata::io {
namespace {

class FaultyFileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(root_, faulty_.open_directory("/")); }
  Entry at(std::string_view name) { return {*root_, name}; }
  bool is_there(std::string_view name) { return mem_.stat(at(name)).has_value(); }

  MemFileSystem mem_;
  FaultyFileSystem faulty_{mem_};
  std::unique_ptr<Directory> root_;
};

TEST_F(FaultyFileSystemTest, TheChosenCallFailsAndNoOther) {
  faulty_.fail_call(1, Effect::kFailBefore, Code::kDiskFull);
  EXPECT_OK(faulty_.write_new(at("0"), "x"));
  EXPECT_FALSE(faulty_.fired());
  EXPECT_CODE(Code::kDiskFull, faulty_.write_new(at("1"), "x"));
  EXPECT_TRUE(faulty_.fired());
  EXPECT_OK(faulty_.write_new(at("2"), "x"));
  EXPECT_TRUE(is_there("0") && !is_there("1") && is_there("2"));
}

TEST_F(FaultyFileSystemTest, AfterMeansThatItWasDone) {
  faulty_.fail_call(0, Effect::kFailAfter);
  EXPECT_CODE(Code::kIo, faulty_.write_new(at("file"), "x"));
  EXPECT_TRUE(is_there("file"));
  faulty_.fail_call(0, Effect::kFailAfter, Code::kDiskFull);
  EXPECT_CODE(Code::kExists, faulty_.write_new(at("file"), "x"));  // its own error is kept
  faulty_.fail_call(0, Effect::kFailAfter);
  EXPECT_CODE(Code::kIo, faulty_.try_lock(at("file")));
  EXPECT_OK(faulty_.try_lock(at("file")));  // the lock nobody got is free
}

TEST_F(FaultyFileSystemTest, ALostCallAnswersSuccessAndDoesNothing) {
  ASSERT_OK(faulty_.write_new(at("file"), "x"));
  faulty_.fail_call(0, Effect::kLost);
  EXPECT_OK(faulty_.unlink(at("file")));
  EXPECT_TRUE(is_there("file"));
}

TEST_F(FaultyFileSystemTest, FromACallOnNothingHappensAnyMore) {
  faulty_.fail_from_call(1);
  EXPECT_OK(faulty_.write_new(at("0"), "x"));
  EXPECT_CODE(Code::kIo, faulty_.write_new(at("1"), "x"));
  EXPECT_CODE(Code::kIo, faulty_.unlink(at("0")));
  faulty_.heal();
  EXPECT_OK(faulty_.unlink(at("0")));
  EXPECT_FALSE(is_there("1"));
}

TEST_F(FaultyFileSystemTest, CountsByKindAndFolder) {
  ASSERT_OK(faulty_.make_directory(at("folder")));
  ASSERT_OK_AND_ASSIGN(const auto folder, faulty_.open_directory_at(at("folder")));
  EXPECT_OK(faulty_.sync_directory(*root_));
  EXPECT_OK(faulty_.sync_directory(*folder));
  EXPECT_OK(faulty_.sync_directory(*folder));
  EXPECT_EQ(faulty_.calls(), 6U);
  EXPECT_EQ(faulty_.calls(Operation::kSyncDirectory), 3U);
  EXPECT_EQ(faulty_.calls(Operation::kSyncDirectory, "/folder"), 2U);
  EXPECT_EQ(faulty_.calls(Operation::kSyncFile), 0U);
  faulty_.reset_counts();
  EXPECT_EQ(faulty_.calls(Operation::kSyncDirectory), 0U);
}

TEST_F(FaultyFileSystemTest, TheObserverSeesEachCallBeforeItHappens) {
  std::vector<std::string> seen;
  faulty_.reset_counts();
  faulty_.set_observer([&](const FileCall& call) {
    seen.push_back(std::to_string(call.number) + " " + call.directory + " " + call.name + " " +
                   call.to_directory + " " + call.to_name + (is_there("x") ? " x" : ""));
  });
  ASSERT_OK(faulty_.write_new(at("x"), "1"));
  ASSERT_OK(faulty_.link(at("x"), at("y")));
  ASSERT_OK(faulty_.sync_directory(*root_));
  ASSERT_OK(faulty_.stat_path("/y"));
  EXPECT_THAT(seen, ::testing::ElementsAre("0 / x  ", "1 / x / y x", "2 /    x", "3 /y    x"));
}

}  // namespace
}  // namespace strata::io
