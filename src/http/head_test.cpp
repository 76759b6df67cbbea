#include "http/head.h"

#include <gtest/gtest.h>

#include <string>

namespace strata::http {
namespace {

// wire_test.cpp holds the table of what is refused; here is what a handler gets to see.

TEST(HeadScanner, FindsTheEndHoweverTheBytesArrive) {
  const std::string head = "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string bytes = head + "GET /next";
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    HeadScanner scanner;
    for (std::size_t here = step;; here = std::min(here + step, bytes.size())) {
      const auto end = scanner.scan(std::string_view(bytes).substr(0, here));
      ASSERT_TRUE(end);
      EXPECT_EQ(end->has_value(), here >= head.size());
      if (!*end) continue;
      EXPECT_EQ(**end, head.size());
      break;
    }
  }
}

TEST(ParseHead, WhatAHandlerSees) {
  Head head;
  ASSERT_TRUE(
      parse_head("POST /a%20b/c?x=1&y=%26&z HTTP/1.1\r\nHost: a\r\nX-Two: 1\r\nx-two:  2 \r\n"
                 "Content-Length: 7\r\nExpect: 100-continue\r\n\r\n",
                 head));
  const Request& request = head.request;
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/a%20b/c?x=1&y=%26&z");
  EXPECT_EQ(request.path, "/a b/c");
  EXPECT_EQ(head.raw_path, "/a%20b/c");
  EXPECT_EQ(request.query, (std::map<std::string, std::string>{{"x", "1"}, {"y", "&"}, {"z", ""}}));
  EXPECT_EQ(request.header("X-TWO"), "1");
  EXPECT_EQ(request.header_count("X-Two"), 2U);
  EXPECT_EQ(request.header("X-Three"), std::nullopt);
  EXPECT_EQ(request.content_length, 7U);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_TRUE(head.expects_continue);
}

TEST(ParseHead, HoldsWhatWasReadableBeforeAnError) {
  Head head;
  const auto parsed = parse_head("GET /a HTTP/1.1\r\nX-Request-Id: r\r\nbad\r\n\r\n", head);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::kBadRequest);
  EXPECT_EQ(head.request.path, "/a");
  EXPECT_EQ(head.request.header("X-Request-Id"), "r");
  EXPECT_FALSE(head.keep_alive);
}

}  // namespace
}  // namespace strata::http
