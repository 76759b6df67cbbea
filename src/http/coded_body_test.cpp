#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "http/compress_support.h"
#include "http/server.h"
#include "http/test_support.h"

/// Compressed bodies as a server's client meets them.
namespace strata::http {
namespace {

using test::RawClient;
using test::RawReply;
using ::testing::HasSubstr;

std::string post(std::string_view path, std::string_view headers, std::string_view body) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: a\r\n{}\r\n{}", path, headers, body);
}

std::string sized(std::string_view path, std::string_view coding, std::string_view body) {
  const auto headers =
      fmt::format("Content-Encoding: {}\r\nContent-Length: {}\r\n", coding, body.size());
  return post(path, headers, body);
}

/// Answers the body it was given. `/coded` takes 1000 bytes of it in any coding, `/plain` in none.
std::unique_ptr<Server> start() {
  const Handler echo = [](const Request& request) { return test::text(request.body); };
  Route coded = test::route("POST", "/coded", echo, Lane::kCommit,
                            [](const Request&) { return std::uint64_t{1000}; });
  coded.takes_encodings = true;
  return test::start(test::test_options(), {std::move(coded), test::route("POST", "/plain", echo)});
}

TEST(CodedBody, IsInflatedHoweverItArrives) {
  std::mt19937 random(static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed()));
  const auto server = start();
  RawClient client(server->port());
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kZstd}) {
    const std::string_view name = coding == ContentCoding::kGzip ? "gzip" : "ZSTD";
    for (int round = 0; round < 50; ++round) {
      std::string body;
      while (body.size() < 20U * static_cast<unsigned>(round)) body += "abc"[random() % 3];
      const std::string compressed = test::compress(coding, body, 6);
      EXPECT_EQ(client.ask(sized("/coded", name, compressed)).body, body);

      std::string chunks;
      for (std::size_t at = 0; at < compressed.size();) {
        const std::size_t size = std::min<std::size_t>(1 + random() % 40, compressed.size() - at);
        chunks += fmt::format("{:x}\r\n{}\r\n", size, compressed.substr(at, size));
        at += size;
      }
      const auto headers =
          fmt::format("Content-Encoding: {}\r\nTransfer-Encoding: chunked\r\n", name);
      EXPECT_EQ(client.ask(post("/coded", headers, chunks + "0\r\n\r\n")).body, body);
    }
  }
}

TEST(CodedBody, IsLimitedBeforeAndAfter) {
  const auto server = start();
  RawClient client(server->port());
  const std::string limit(1000, 'x');
  EXPECT_EQ(client.ask(sized("/coded", "gzip", test::gzip(limit))).body, limit);
  const RawReply over = client.ask(sized("/coded", "gzip", test::gzip(limit + 'x')));
  EXPECT_EQ(over.status, 413);
  EXPECT_EQ(over.body, "The body is larger than 1000 bytes (more than 1000 once inflated).");
  // The request was read to its end, so the connection goes on.
  const RawReply bomb = client.ask(sized("/coded", "zstd", test::zstd(std::string(1 << 24, '0'))));
  EXPECT_EQ(bomb.status, 413);
  // Stored, not compressed: 1000 bytes and a little.
  const RawReply declared = client.ask(sized("/coded", "gzip", test::gzip(limit, 0)));
  EXPECT_EQ(declared.status, 413);
  EXPECT_THAT(declared.body, HasSubstr("declared"));
}

TEST(CodedBody, ABadOneIsRefusedAndTheConnectionGoesOn) {
  const auto server = start();
  RawClient client(server->port());
  for (const std::string& body :
       {std::string("plain"), test::gzip("cut").substr(0, 15), std::string(),
        test::gzip("more") + "junk", test::zstd("other")}) {
    const RawReply reply = client.ask(sized("/coded", "gzip", body));
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_THAT(reply.body, HasSubstr("gzip"));
  }
  EXPECT_EQ(client.ask(sized("/coded", "identity", "plain")).body, "plain");
}

TEST(CodedBody, AnotherCodingIs415AndNamesThoseTaken) {
  const auto server = start();
  for (const std::string_view coding : {"br", "deflate", "gzip, zstd", "identity, gzip", "*", ""}) {
    RawClient client(server->port());
    const RawReply reply = client.ask(sized("/coded", coding, "body"));
    EXPECT_EQ(reply.status, 415) << coding;
    EXPECT_EQ(reply.header("Accept-Encoding"), "gzip, zstd");
    EXPECT_THAT(reply.body, HasSubstr("gzip"));
  }
  for (const std::string_view coding : {"gzip", "zstd", "br"}) {
    RawClient client(server->port());
    const RawReply reply = client.ask(sized("/plain", coding, test::gzip("body")));
    EXPECT_EQ(reply.status, 415) << coding;
    EXPECT_EQ(reply.header("Accept-Encoding"), "identity");
  }
  RawClient client(server->port());
  EXPECT_EQ(client.ask(sized("/plain", "identity", "body")).body, "body");
}

}  // namespace
}  // namespace strata::http
