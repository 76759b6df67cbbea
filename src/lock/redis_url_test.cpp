#include "lock/redis_url.h"

#include <gtest/gtest.h>

#include "io/testing/expect.h"

namespace strata::lock {
namespace {

TEST(RedisUrl, EveryPartIsRead) {
  const struct {
    std::string_view url;
    RedisAddress address;
  } cases[] = {
      {"redis://127.0.0.1:6379", {.host = "127.0.0.1", .port = 6379}},
      {"redis://redis-1.internal:1/0", {.host = "redis-1.internal", .port = 1}},
      {"redis://h:65535/15", {.host = "h", .port = 65535, .database = 15}},
      {"redis://[::1]:6379/2", {.host = "::1", .port = 6379, .database = 2}},
      {"redis://strata:pass@h:6379",
       {.host = "h", .port = 6379, .user = "strata", .password = "pass"}},
      {"redis://:pass@h:6379", {.host = "h", .port = 6379, .password = "pass"}},
      {"redis://a%3ab:%40%2F%3A%00!$&'()*+,;=-._~@h:6379/3",
       {.host = "h",
        .port = 6379,
        .user = "a:b",
        .password = std::string("@/:\0!$&'()*+,;=-._~", 19),
        .database = 3}},
  };
  for (const auto& [url, address] : cases) {
    SCOPED_TRACE(url);
    ASSERT_OK_AND_ASSIGN(const RedisAddress read, parse_redis_url(url));
    EXPECT_EQ(read, address);
  }
}

TEST(RedisUrl, AnythingElseIsRefusedWithItsReason) {
  constexpr std::string_view kEscape =
      "in user and password every character but letters, digits and -._~!$&'()*+,;= is written "
      "as %XX";
  constexpr std::string_view kPort = "after the host stands no port from 1 to 65535";
  constexpr std::string_view kHost = "the host is no name and no address";
  constexpr std::string_view kDatabase = "after the last / stands no database number";
  const struct {
    std::string_view url;
    std::string_view reason;
  } cases[] = {
      {"", "it does not begin with redis://"},
      {"h:6379", "it does not begin with redis://"},
      {"REDIS://h:6379", "it does not begin with redis://"},
      {"unix:///run/redis.sock", "it does not begin with redis://"},
      {"rediss://u:secret@h:6379",
       "rediss:// is TLS, which Strata does not speak to Redis; use redis:// within a private "
       "network, or to a TLS tunnel on this machine"},
      {"redis://secret@h:6379", "a colon is missing between user and password, before the @"},
      {"redis://u:@h:6379", "the password before the @ is empty"},
      {"redis://u:sec:ret@h:6379", kEscape},
      {"redis://u:sec ret@h:6379", kEscape},
      {"redis://u:secret%4@h:6379", kEscape},
      {"redis://u:secret%4x@h:6379", kEscape},
      {"redis://u:secret%-1@h:6379", kEscape},
      {"redis://u:se/cret@h:6379", kEscape},
      {"redis://u:sec@ret@h:6379", kEscape},
      {"redis://", kHost},
      {"redis://:6379", kHost},
      {"redis:///0", kHost},
      {"redis://a b:6379", kHost},
      {"redis://::1:6379", kHost},
      {"redis://[::1:6379", kHost},
      {"redis://[h]:6379", "in the brackets stands no IPv6 address"},
      {"redis://h", kPort},
      {"redis://[::1]", kPort},
      {"redis://[::1]6379", kPort},
      {"redis://h:", kPort},
      {"redis://h:0", kPort},
      {"redis://h:06379", kPort},
      {"redis://h:+1", kPort},
      {"redis://h:65536", kPort},
      {"redis://h:6379?db=1", kPort},
      {"redis://h:6379:1", kPort},
      {"redis://h:6379/", kDatabase},
      {"redis://h:6379/x", kDatabase},
      {"redis://h:6379/-1", kDatabase},
      {"redis://h:6379/00", kDatabase},
      {"redis://h:6379/1/", kDatabase},
      {"redis://h:6379/1#x", kDatabase},
      {"redis://h:6379/2147483648", kDatabase},
  };
  for (const auto& [url, reason] : cases) {
    SCOPED_TRACE(url);
    const auto refused = parse_redis_url(url);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kBadRequest);
    EXPECT_EQ(refused.error().message,
              "The Redis URL is not as redis://[user:password@]host:port[/database]: " +
                  std::string(reason) + ".");
    EXPECT_EQ(refused.error().detail, "");
  }
}

}  // namespace
}  // namespace strata::lock
