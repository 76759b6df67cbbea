#include "http/reply.h"

#include <gtest/gtest.h>

#include <chrono>

namespace strata::http {
namespace {

using namespace std::chrono_literals;

TEST(RenderHead, IsTheServersOwn) {
  Response response{200,
                    {{"Content-Type", "text/plain"},
                     {"content-length", "99"},
                     {"Connection", "upgrade"},
                     {"Bad Name", "x"},
                     {"X-Split", "a\r\nSet-Cookie: b"}},
                    "hello",
                    nullptr};
  const WallTime now = std::chrono::sys_days(std::chrono::year(1994) / 11 / 6) + 8h + 49min + 37s;
  EXPECT_EQ(render_head(response, {BodyFraming::kLength, true, "r-1", now}),
            "HTTP/1.1 200 OK\r\n"
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "Server: strata\r\n"
            "X-Request-Id: r-1\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Content-Type: text/plain\r\n"
            "X-Split: a  Set-Cookie: b\r\n"
            "Content-Length: 5\r\n"
            "\r\n");
}

TEST(RenderHead, Framing) {
  struct Row {
    int status;
    BodyFraming framing;
    bool keep_alive;
    std::string end;
  };
  const Row rows[] = {
      {200, BodyFraming::kLength, true, "nosniff\r\nContent-Length: 1\r\n\r\n"},
      {200, BodyFraming::kLength, false,
       "nosniff\r\nContent-Length: 1\r\nConnection: close\r\n\r\n"},
      {200, BodyFraming::kChunked, true, "nosniff\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {200, BodyFraming::kUntilClose, false, "nosniff\r\nConnection: close\r\n\r\n"},
      {204, BodyFraming::kLength, true, "nosniff\r\n\r\n"},
      {304, BodyFraming::kLength, true, "nosniff\r\n\r\n"},
  };
  for (const Row& row : rows) {
    const Response response{row.status, {}, "x", nullptr};
    EXPECT_TRUE(render_head(response, {row.framing, row.keep_alive, "r", {}}).ends_with(row.end));
  }
}

TEST(RenderChunk, SizeInHex) {
  EXPECT_EQ(render_chunk(std::string(26, 'x')), "1a\r\n" + std::string(26, 'x') + "\r\n");
}

}  // namespace
}  // namespace strata::http
