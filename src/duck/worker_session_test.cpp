#include "duck/worker_session.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "duck/worker_watch.h"

namespace strata::duck {
namespace {

namespace fs = std::filesystem;

Result<std::unique_ptr<WorkerSession>> open_session() {
  auto answer_file = AnswerFile::make();
  if (!answer_file) return answer_file.error();
  return WorkerSession::open(64ULL * 1024 * 1024, std::move(answer_file).value());
}

class WorkerSessionTest : public testing::Test {
 protected:
  WorkerSessionTest() {
    std::string name = (fs::temp_directory_path() / "strata-session-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    for (const char* id : {"one", "two"}) {
      fs::create_directories(root_ / id / "generations");
      auto session = open_session();
      EXPECT_TRUE(session);
      EXPECT_TRUE((*session)->run_ddl({.kb_folder = root_ / id,
                                       .database_file = source(id).generation_file,
                                       .statements = {"CREATE VIEW v AS SELECT 1 AS a"}}));
    }
  }
  ~WorkerSessionTest() override { fs::remove_all(root_); }

  Source source(const std::string& id) const {
    return {.kb_folder = root_ / id, .generation_file = root_ / id / "generations/000001.duckdb"};
  }

  fs::path root_;
};

TEST_F(WorkerSessionTest, ServesOneKnowledgebaseForLife) {
  auto session = open_session();
  ASSERT_TRUE(session);
  ASSERT_TRUE((*session)->views(source("one")));
  const auto other = (*session)->views(source("two"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kInternal);
  // Nor a generation of another kb by way of its own folder.
  EXPECT_FALSE((*session)->views(
      {.kb_folder = root_ / "one", .generation_file = source("two").generation_file}));
  const auto again = (*session)->views(source("one"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->size(), 1U);
}

TEST_F(WorkerSessionTest, IsLockedDownEvenIfNothingCouldBeAttached) {
  auto session = open_session();
  ASSERT_TRUE(session);
  const auto missing = (*session)->views(
      {.kb_folder = root_ / "one", .generation_file = root_ / "one/generations/000009.duckdb"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  const auto other = (*session)->views(source("two"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kInternal);
}

// An interrupt that met a statement of the gate's was an error of the server's own.
TEST_F(WorkerSessionTest, ADeadlineWhileTheGateLooksIsATimeout) {
  auto session = open_session();
  ASSERT_TRUE(session);
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  QueryWatch watch(ours.get());
  // So long that the gate looks at it for longer than the watch takes between two looks.
  QueryRequest request{.source = source("one"), .sql = "SELECT abs(0)", .rows_max = 1};
  for (int call = 1; call < 2'000; ++call) request.sql += ",abs(0)";
  for (int round = 0; round < 10; ++round) {
    request.timeout_ms = static_cast<std::uint64_t>(round);
    const auto answer = (*session)->query(request, watch);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::kTimeout) << answer.error().detail;
  }
}

}  // namespace
}  // namespace strata::duck
