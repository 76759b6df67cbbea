#include "lock/redis_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <thread>

#include "base/testing/loopback.h"
#include "base/unique_fd.h"
#include "io/testing/expect.h"
#include "lock/testing/redis_test.h"

namespace strata::lock {
namespace {

constexpr std::string_view kNoAnswer =
    "Redis does not answer: see that it runs and that this node reaches it";
constexpr std::string_view kNotLetIn =
    "Redis does not let this node in: set user and password in its Redis URL right";
constexpr std::string_view kNotDone =
    "Redis does not do what it is asked to: the server's log has why";

class RedisClientTest : public testing::Test {
 protected:
  void SetUp() override {
    STRATA_NEEDS_REDIS();
    server_.emplace();
  }

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(server_->address().port); }

  std::optional<RedisServer> server_;
};

TEST_F(RedisClientTest, AnswersAreNothingATextOrANumber) {
  RedisClient client(server_->address(), kPatient);
  EXPECT_OK(client.ping());
  const std::string bytes("\r\n\0'", 4);
  EXPECT_EQ(client.command({"GET", "a"}).value(), (RedisReply{}));
  EXPECT_EQ(client.command({"SET", "a", bytes}).value(), (RedisReply{.text = "OK"}));
  EXPECT_EQ(client.command({"GET", "a"}).value(), (RedisReply{.text = bytes}));
  EXPECT_EQ(client.command({"DEL", "a"}).value(), (RedisReply{.number = 1}));
}

TEST_F(RedisClientTest, LogsInAsWhomAndWhereTheAddressSays) {
  RedisClient admin(server_->address(), kPatient);
  ASSERT_OK(admin.command({"ACL", "SETUSER", "strata", "on", ">a b", "~*", "+@all"}));
  RedisAddress address = server_->address();
  address.user = "strata";
  address.password = "a b";
  address.database = 3;
  RedisClient client(address, kPatient);
  EXPECT_EQ(client.command({"ACL", "WHOAMI"}).value(), (RedisReply{.text = "strata"}));
  EXPECT_OK(client.command({"SET", "a", "there"}));
  EXPECT_EQ(admin.command({"GET", "a"}).value(), (RedisReply{}));
}

TEST_F(RedisClientTest, ARefusalSaysWhatToDoAndShowsNoSecret) {
  const RedisAddress right = server_->address();
  RedisAddress wrong_password = right;
  wrong_password.password = "secret";
  RedisAddress wrong_user = wrong_password;
  wrong_user.user = "stranger";
  RedisAddress no_login = right;
  no_login.password.clear();
  RedisAddress wrong_database = right;
  wrong_database.database = 99;
  const std::string wrong_pair = "WRONGPASS invalid username-password pair or user is disabled.";
  const struct {
    RedisAddress address;
    std::string_view message;
    std::string detail;
  } cases[] = {
      {wrong_password, kNotLetIn, "redis " + endpoint() + "/0: " + wrong_pair},
      {wrong_user, kNotLetIn, "redis " + endpoint() + "/0: " + wrong_pair},
      {no_login, kNotLetIn, "redis " + endpoint() + "/0: NOAUTH Authentication required."},
      {wrong_database, kNotDone, "redis " + endpoint() + "/99: ERR DB index is out of range"},
  };
  for (const auto& [address, message, detail] : cases) {
    RedisClient client(address, kPatient);
    const auto refused = client.ping();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kIo);
    EXPECT_EQ(refused.error().message, message);
    EXPECT_EQ(refused.error().detail, detail);
  }
}

TEST_F(RedisClientTest, StoppedItIsOutOfReachUntilItIsBack) {
  RedisClient client(server_->address(), kPatient);
  ASSERT_OK(client.ping());
  server_->stop();
  for (int i = 0; i < 2; ++i) {
    const auto pinged = client.ping();
    ASSERT_FALSE(pinged);
    EXPECT_EQ(pinged.error().code, Code::kIo);
    EXPECT_EQ(pinged.error().message, kNoAnswer);
    EXPECT_EQ(pinged.error().detail, "redis " + endpoint() + "/0: Connection refused");
  }
  server_->start();
  EXPECT_OK(client.ping());
}

/// Nobody's command is lost to a restart that came between two.
TEST_F(RedisClientTest, ARestartBetweenTwoCommandsIsNotNoticed) {
  RedisClient client(server_->address(), kPatient);
  ASSERT_OK(client.ping());
  server_->stop();
  server_->start();
  EXPECT_OK(client.ping());
}

TEST_F(RedisClientTest, HangingItIsOutOfReachUntilItGoesOn) {
  constexpr std::chrono::milliseconds kShort{100};
  RedisClient client(server_->address(), {.connect = kShort, .command = kShort});
  server_->pause();
  EXPECT_CODE(Code::kIo, client.ping());
  server_->resume();
  bool back = false;
  for (int tries = 0; !back && tries < 600; ++tries) back = client.ping().has_value();
  EXPECT_TRUE(back);
}

TEST_F(RedisClientTest, ManyThreadsMayUseOne) {
  RedisClient client(server_->address(), kPatient);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&client] {
        for (int round = 0; round < 50; ++round) EXPECT_OK(client.command({"INCR", "rounds"}));
      });
    }
  }
  EXPECT_EQ(client.command({"GET", "rounds"}).value(), (RedisReply{.text = "400"}));
}

/// Takes one connection and answers its first command so.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer) {
    thread_ = std::jthread([this, answer = std::move(answer)] {
      const UniqueFd peer = listener_.accept();
      std::array<char, 256> asked{};
      EXPECT_GT(::recv(peer.get(), asked.data(), asked.size(), 0), 0);
      EXPECT_EQ(::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(answer.size()));
    });
  }
  std::uint16_t port() const { return listener_.port(); }

 private:
  LoopbackListener listener_;
  std::jthread thread_;
};

TEST(RedisClient, WhateverAnswersAtTheLoginIsAnErrorWithoutSecrets) {
  const struct {
    std::string_view answer;
    std::string_view message;
    std::string_view reason;
  } cases[] = {
      {"-ERR unknown command 'AUTH', with args beginning with: 'secret' \r\n", kNotDone,
       "ERR unknown command "},
      {"-ERR unknown command `AUTH`, with args beginning with: `secret`, \r\n", kNotDone,
       "ERR unknown command "},
      {"-ERR max number of clients reached\r\n", kNotDone, "ERR max number of clients reached"},
      {"*0\r\n", kNotDone, "an answer of type 2"},
      {"HTTP/1.1 400 Bad Request\r\n", kNoAnswer, R"(Protocol error, got "H" as reply type byte)"},
      {"", kNoAnswer, "Server closed the connection"},
      {"$5\r\nab", kNoAnswer, "Server closed the connection"},
  };
  for (const auto& [answer, message, reason] : cases) {
    SCOPED_TRACE(answer);
    const OneAnswer server{std::string(answer)};
    RedisClient client({.host = "127.0.0.1", .port = server.port(), .password = "secret"},
                       kPatient);
    const auto refused = client.ping();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kIo);
    EXPECT_EQ(refused.error().message, message);
    EXPECT_EQ(refused.error().detail,
              "redis 127.0.0.1:" + std::to_string(server.port()) + "/0: " + std::string(reason));
  }
}

}  // namespace
}  // namespace strata::lock
