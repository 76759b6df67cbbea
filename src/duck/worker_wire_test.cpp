#include "duck/worker_wire.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace strata::duck {
namespace {

class WorkerWireTest : public testing::Test {
 protected:
  WorkerWireTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    near_.reset(ends[0]);
    far_.reset(ends[1]);
  }

  void send_bytes(const std::string& bytes) {
    EXPECT_EQ(::send(far_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }

  UniqueFd near_;
  UniqueFd far_;
};

Deadline soon() { return SystemClock().steady() + std::chrono::milliseconds(30); }

TEST_F(WorkerWireTest, FramesArriveWhole) {
  const std::string large(1'000'000, 'x');
  std::thread sender([&] {
    EXPECT_TRUE(send_frame(far_.get(), FrameKind::kRows, large, {}));
    EXPECT_TRUE(send_frame(far_.get(), FrameKind::kEnd, "", {}));
  });
  const auto first = receive_frame(near_.get(), {});
  const auto second = receive_frame(near_.get(), {});
  sender.join();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kind, FrameKind::kRows);
  EXPECT_EQ(first->payload, large);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->kind, FrameKind::kEnd);
  EXPECT_EQ(second->payload, "");
}

TEST_F(WorkerWireTest, RefusesWhatIsNoFrame) {
  for (const std::string& bytes :
       {std::string("\xFF\xFF\xFF\x7F\x07", 5), std::string("\x01\x00\x00\x00\x00x", 6),
        std::string("\x01\x00\x00\x00\x63x", 6)}) {
    WorkerWireTest::send_bytes(bytes);
    const auto frame = receive_frame(near_.get(), soon());
    ASSERT_FALSE(frame);
    EXPECT_EQ(frame.error().code, Code::kInternal);
    std::array<char, 16> rest{};
    ::recv(near_.get(), rest.data(), rest.size(), MSG_DONTWAIT);
  }
}

TEST_F(WorkerWireTest, TellsSilenceFromTheEnd) {
  send_bytes("\x09");
  const auto late = receive_frame(near_.get(), soon());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kTimeout);

  far_.reset();
  const auto closed = receive_frame(near_.get(), soon());
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Code::kIo);
  const auto sent = send_frame(near_.get(), FrameKind::kQuery, "q", soon());
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::kIo);
}

TEST_F(WorkerWireTest, SendingToAPeerThatDoesNotReadEnds) {
  const auto sent = send_frame(near_.get(), FrameKind::kRows, std::string(3'000'000, 'x'), soon());
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::kTimeout);
}

TEST(WorkerMessageTest, MessagesSurviveTheWay) {
  const QueryRequest query{.source = {"/kb", "/kb/generations/000001.duckdb"},
                           .sql = std::string("SELECT '\xC3\xA9'"),
                           .format = ResultFormat::kCsv,
                           .rows_max = ~0ULL,
                           .timeout_ms = 7,
                           .manifest = {{"raw_extracted.stream_a", "stream:a", 0, "ready"},
                                        {"raw_extracted.b", "b.pdf", std::nullopt, "deferred"}}};
  const auto query_back = decode_query(encode(query));
  ASSERT_TRUE(query_back);
  EXPECT_EQ(query_back->source.kb_folder, "/kb");
  EXPECT_EQ(query_back->source.generation_file, "/kb/generations/000001.duckdb");
  EXPECT_EQ(query_back->sql, query.sql);
  EXPECT_EQ(query_back->format, ResultFormat::kCsv);
  EXPECT_EQ(query_back->rows_max, ~0ULL);
  EXPECT_EQ(query_back->timeout_ms, 7U);
  ASSERT_EQ(query_back->manifest.size(), 2U);
  EXPECT_EQ(query_back->manifest[0].table, "raw_extracted.stream_a");
  EXPECT_EQ(query_back->manifest[0].source, "stream:a");
  EXPECT_EQ(query_back->manifest[0].rows, 0U);
  EXPECT_EQ(query_back->manifest[0].state, "ready");
  EXPECT_EQ(query_back->manifest[1].rows, std::nullopt);
  EXPECT_EQ(query_back->manifest[1].state, "deferred");

  const auto head_back = decode_head(encode(QueryHead{.columns = {{"a", "VARCHAR"}, {"", "DATE"}},
                                                      .row_count = 3,
                                                      .truncated = true,
                                                      .tables = {"s.t", "s.u"}}));
  ASSERT_TRUE(head_back);
  ASSERT_EQ(head_back->columns.size(), 2U);
  EXPECT_EQ(head_back->columns[0].name, "a");
  EXPECT_EQ(head_back->columns[1].type, "DATE");
  EXPECT_EQ(head_back->row_count, 3U);
  EXPECT_TRUE(head_back->truncated);
  EXPECT_EQ(head_back->tables, (std::vector<std::string>{"s.t", "s.u"}));

  const auto ddl_back = decode_ddl(encode(DdlRequest{"/kb", "/kb/staging/x", {"A", "B"}}));
  ASSERT_TRUE(ddl_back);
  EXPECT_EQ(ddl_back->database_file, "/kb/staging/x");
  EXPECT_EQ(ddl_back->statements, (std::vector<std::string>{"A", "B"}));

  const auto set_up_back =
      decode_set_up(encode(SetUpRequest{WorkerUse::kWorkbench, "/kb", "/kb/staging/x", 1, 2}));
  ASSERT_TRUE(set_up_back);
  EXPECT_EQ(set_up_back->use, WorkerUse::kWorkbench);
  EXPECT_EQ(set_up_back->writable_folder, "/kb/staging/x");
  EXPECT_EQ(set_up_back->memory_bytes, 1U);
  EXPECT_EQ(set_up_back->address_space_bytes, 2U);

  const auto step_back = decode_step(encode(StepRequest{"SELECT 1", true, 3, 4}));
  ASSERT_TRUE(step_back);
  EXPECT_EQ(step_back->sql, "SELECT 1");
  EXPECT_TRUE(step_back->wants_rows);
  EXPECT_EQ(step_back->rows_max, 3U);
  EXPECT_EQ(step_back->timeout_ms, 4U);

  const std::vector<TextRow> rows = {{"a", std::nullopt, ""}, {}};
  EXPECT_EQ(decode_text_rows(encode(rows)).value(), rows);

  const auto views_back = decode_views(encode(std::vector<View>{{"s", "v", "CREATE VIEW"}}));
  ASSERT_TRUE(views_back);
  ASSERT_EQ(views_back->size(), 1U);
  EXPECT_EQ((*views_back)[0].sql, "CREATE VIEW");

  const Error error = decode_error(encode(Error{Code::kUnknownTable, "message", "detail"}));
  EXPECT_EQ(error.code, Code::kUnknownTable);
  EXPECT_EQ(error.message, "message");
  EXPECT_EQ(error.detail, "detail");
}

TEST(WorkerMessageTest, EveryCutAndEveryAdditionIsNoticed) {
  const std::string whole = encode(
      QueryHead{.columns = {{"a", "b"}}, .row_count = 1, .truncated = false, .tables = {"t"}});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(decode_head(std::string_view(whole).substr(0, length))) << length;
  }
  EXPECT_FALSE(decode_head(whole + "x"));
  const std::string rows = encode(std::vector<TextRow>{{"a", std::nullopt}, {"b"}});
  for (std::size_t length = 0; length < rows.size(); ++length) {
    EXPECT_FALSE(decode_text_rows(std::string_view(rows).substr(0, length))) << length;
  }
  // A count far beyond what could follow must not be allocated.
  EXPECT_FALSE(decode_views(std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x0F", 8)));
}

TEST(WorkerMessageTest, AWorkerCannotAnswerWithJustAnyCode) {
  for (const Code code : {Code::kDegraded, Code::kBusy, Code::kForbidden, static_cast<Code>(200)}) {
    EXPECT_EQ(decode_error(encode(Error{code, "m", "d"})).code, Code::kInternal);
  }
}

}  // namespace
}  // namespace strata::duck
