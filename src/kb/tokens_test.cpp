#include "kb/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/sha256.h"
#include "io/posix_file_system.h"
#include "io/testing/expect.h"
#include "io/testing/faulty_file_system.h"
#include "io/testing/mem_file_system.h"
#include "io/testing/temp_dir.h"

namespace strata::kb {
namespace {

using io::Effect;
using testing::HasSubstr;

constexpr std::string_view kUnknown =
    "strata_0123456789ab_0000000000000000000000000000000000000000000000000000000000000000";

Scope scope(std::string_view text) { return Scope::parse(text).value(); }

/// Two processes on one root.
class TokensTest : public testing::Test {
 protected:
  std::unique_ptr<Tokens> open() { return Tokens::open(faulty_, clock_, *root_); }
  std::string file(const std::string& name) const { return temp_.path() + "/tokens/" + name; }

  const io::TempDir temp_;
  FakeClock clock_{std::chrono::sys_days(std::chrono::year(2026) / 6 / 29)};
  const std::unique_ptr<io::FileSystem> fs_ = io::make_posix_file_system();
  io::FaultyFileSystem faulty_{*fs_};
  const std::unique_ptr<io::Directory> root_ = fs_->open_directory(temp_.path()).value();
  const std::unique_ptr<Tokens> here_ = open();
  const std::unique_ptr<Tokens> elsewhere_ = open();
};

TEST_F(TokensTest, ATokenIsWhatTheTextSaysAndNothingElseIs) {
  ASSERT_OK_AND_ASSIGN(const auto made,
                       here_->create({.scopes = {scope("ingest:demo/events"), scope("read:demo")},
                                      .lifetime = std::chrono::hours(1),
                                      .name = "robot"}));
  EXPECT_THAT(made.text, testing::MatchesRegex("strata_[0-9a-f]{12}_[0-9a-f]{64}"));
  ASSERT_OK_AND_ASSIGN(const auto token, here_->check(made.text));
  ASSERT_TRUE(token.has_value());
  EXPECT_EQ(token->id, made.text.substr(7, 12));
  EXPECT_EQ(token->name, "robot");
  EXPECT_THAT(token->scopes, testing::ElementsAre(scope("ingest:demo/events"), scope("read:demo")));
  EXPECT_EQ(token->expires_at, clock_.wall() + std::chrono::hours(1));

  std::string other_secret = made.text;
  other_secret.back() = other_secret.back() == '0' ? '1' : '0';
  const std::string id = made.text.substr(0, 20);
  for (const std::string& text :
       {other_secret, std::string(), std::string(kUnknown), std::string("strata_"),
        std::string("strata_0123456789ab"), id, id + "x", made.text + "0", " " + made.text,
        made.text.substr(0, made.text.size() - 1), "Strata" + made.text.substr(6),
        std::string("strata_../../kb_") + std::string(64, '0'), id + sha256_hex("")}) {
    ASSERT_OK_AND_ASSIGN(const auto none, here_->check(text));
    EXPECT_FALSE(none.has_value()) << text;
  }
}

TEST_F(TokensTest, OnlyAHashOfTheSecretIsKept) {
  ASSERT_OK_AND_ASSIGN(const auto made, here_->create({.scopes = {scope("admin")}}));
  const std::string secret = made.text.substr(20);
  std::ifstream in(file(made.token.id + ".json"));
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(content, HasSubstr(sha256_hex(secret)));
  EXPECT_THAT(content, testing::Not(HasSubstr(secret)));
}

TEST_F(TokensTest, ExpiresAtItsInstant) {
  ASSERT_OK_AND_ASSIGN(const auto made, here_->create({.scopes = {scope("admin")},
                                                       .lifetime = std::chrono::minutes(30)}));
  clock_.advance(std::chrono::minutes(30) - std::chrono::nanoseconds(1000));
  EXPECT_TRUE(here_->check(made.text).value().has_value());
  clock_.advance(std::chrono::nanoseconds(1000));
  EXPECT_FALSE(here_->check(made.text).value().has_value());
  EXPECT_FALSE(elsewhere_->check(made.text).value().has_value());
  EXPECT_EQ(here_->list().value().size(), 1u);
}

TEST_F(TokensTest, AnotherProcessKnowsAtOnceWhatIsMadeAndHalfASecondLaterWhatIsRevoked) {
  EXPECT_FALSE(elsewhere_->check(kUnknown).value().has_value());
  ASSERT_OK_AND_ASSIGN(const auto made, here_->create({.scopes = {scope("admin")}}));
  EXPECT_TRUE(elsewhere_->check(made.text).value().has_value());
  EXPECT_OK(here_->revoke(made.token.id));
  EXPECT_FALSE(here_->check(made.text).value().has_value());
  EXPECT_TRUE(elsewhere_->check(made.text).value().has_value());
  clock_.advance(kTokensLookEvery);
  EXPECT_FALSE(elsewhere_->check(made.text).value().has_value());
  EXPECT_CODE(Code::kNotFound, elsewhere_->revoke(made.token.id));
  EXPECT_CODE(Code::kNotFound, elsewhere_->revoke("../strata"));
}

TEST_F(TokensTest, AValidTokenCostsOneLookIn500Milliseconds) {
  ASSERT_OK_AND_ASSIGN(const auto made, here_->create({.scopes = {scope("admin")}}));
  clock_.advance(kTokensLookEvery);
  EXPECT_TRUE(here_->check(made.text).value().has_value());
  const auto calls = faulty_.calls();
  clock_.advance(kTokensLookEvery - std::chrono::milliseconds(1));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(here_->check(made.text).value().has_value());
  EXPECT_EQ(faulty_.calls(), calls);
}

TEST_F(TokensTest, ManyThatMakeAndRevokeAtOnceLoseNothing) {
  constexpr int kEach = 20;
  std::vector<std::thread> threads;
  for (Tokens* tokens : {here_.get(), elsewhere_.get()}) {
    threads.emplace_back([tokens] {
      for (int i = 0; i < kEach; ++i) {
        const auto kept = tokens->create({.scopes = {scope("read:kept")}});
        const auto gone = tokens->create({.scopes = {scope("read:gone")}});
        ASSERT_OK(kept);
        ASSERT_OK(gone);
        EXPECT_OK(tokens->revoke(gone->token.id));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto all = open()->list();
  ASSERT_OK(all);
  EXPECT_EQ(all->size(), 2u * kEach);
  for (const Token& token : *all) EXPECT_EQ(token.scopes.front().str(), "read:kept");
}

TEST_F(TokensTest, WhenTheFolderCannotBeLookedAtNobodyIsLetIn) {
  ASSERT_OK_AND_ASSIGN(const auto made, here_->create({.scopes = {scope("admin")}}));
  clock_.advance(kTokensLookEvery);
  faulty_.fail_call(0, Effect::kFailBefore);
  EXPECT_FALSE(here_->check(made.text));
  EXPECT_TRUE(here_->check(made.text).value().has_value());
}

TEST_F(TokensTest, ADamagedFileLetsNobodyInAndIsNamed) {
  ASSERT_OK_AND_ASSIGN(const auto good, here_->create({.scopes = {scope("admin")}}));
  ASSERT_OK_AND_ASSIGN(const auto bad, here_->create({.scopes = {scope("read:demo")}}));
  const std::string path = file(bad.token.id + ".json");
  std::ifstream in(path);
  std::string content{std::istreambuf_iterator<char>(in), {}};
  content.replace(content.find("read:demo"), 9, "rule:demo");
  std::ofstream(path) << content;
  const auto fresh = open();
  EXPECT_FALSE(fresh->check(bad.text).value().has_value());
  EXPECT_TRUE(fresh->check(good.text).value().has_value());
  EXPECT_THAT(fresh->problems(),
              testing::ElementsAre("tokens/" + bad.token.id +
                                   ".json holds no token: nobody is let in by it."));
}

TEST(TokensPowerCut, WhatWasMadeStaysAndWhatWasRevokedStaysAway) {
  FakeClock clock{WallTime{}};
  io::MemFileSystem mem;
  const auto root = mem.open_directory("/").value();
  const auto tokens = Tokens::open(mem, clock, *root);
  ASSERT_OK_AND_ASSIGN(const auto kept, tokens->create({.scopes = {scope("admin")}}));
  ASSERT_OK_AND_ASSIGN(const auto gone, tokens->create({.scopes = {scope("admin")}}));
  ASSERT_OK(tokens->revoke(gone.token.id));
  const auto after = mem.clone();
  after->crash(io::MemFileSystem::Keep::kNothing);
  const auto root_after = after->open_directory("/").value();
  const auto fresh = Tokens::open(*after, clock, *root_after);
  EXPECT_TRUE(fresh->check(kept.text).value().has_value());
  EXPECT_FALSE(fresh->check(gone.text).value().has_value());
}

TEST(Scope, IsReadAsItIsWritten) {
  for (const char* text : {"admin", "read:demo", "model:a-b_c", "ingest:demo/events"}) {
    ASSERT_OK_AND_ASSIGN(const Scope parsed, Scope::parse(text));
    EXPECT_EQ(parsed.str(), text);
  }
  for (const char* text : {"", "Admin", "admin:demo", "read", "read:", "read:*", "read:demo/x",
                           "ingest:demo", "ingest:demo/", "ingest:/x", "ingest:demo/x/y",
                           "write:demo", "read:Demo", "read: demo", "ingest:demo/a-b"}) {
    EXPECT_CODE(Code::kBadRequest, Scope::parse(text)) << text;
  }
}

TEST(Lifetime, IsAWholeNumberOfDaysHoursOrMinutes) {
  EXPECT_EQ(parse_lifetime("90d").value(), std::chrono::days(90));
  EXPECT_EQ(parse_lifetime("12h").value(), std::chrono::hours(12));
  EXPECT_EQ(parse_lifetime("30m").value(), std::chrono::minutes(30));
  EXPECT_EQ(parse_lifetime("3650d").value(), kTokenLifetimeMax);
  for (const char* text : {"", "d", "0d", "-1d", "1", "1s", "1.5d", "3651d", "99999999999d", "1D",
                           " 1d", "1d ", "2147483647d"}) {
    EXPECT_CODE(Code::kBadRequest, parse_lifetime(text)) << text;
  }
}

}  // namespace
}  // namespace strata::kb
