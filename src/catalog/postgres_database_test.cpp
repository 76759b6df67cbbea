#include "catalog/postgres_database.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <array>
#include <latch>
#include <string>
#include <thread>

#include "base/check.h"
#include "base/testing/loopback.h"
#include "base/unique_fd.h"
#include "catalog/testing/postgres_server.h"

namespace strata::catalog {
namespace {

constexpr std::string_view kOutOfReach =
    "PostgreSQL is out of reach, or does not let Strata in. See that it runs and that --postgres "
    "names its host, database, user and password; Strata goes on trying by itself.";

// Not the catalog's: what is tested here is whose tables they are not.
constexpr std::array<SqlText, 2> kSchema = {
    R"sql(CREATE SCHEMA strata;
          CREATE TABLE strata.schema_version (version BIGINT PRIMARY KEY);
          CREATE TABLE strata.words (word TEXT PRIMARY KEY))sql",
    "ALTER TABLE strata.words ADD COLUMN meaning TEXT; INSERT INTO strata.words VALUES ('a', 'b')"};
constexpr std::array<SqlText, 2> kBrokenSchema = {
    kSchema[0], "INSERT INTO strata.words VALUES ('half'); SELECT nonsense"};

/// Where a server should listen: it takes connections and says nothing.
class SilentListener {
 public:
  std::string url() const {
    return "postgresql://ada:p%40s%2Fw@127.0.0.1:" + std::to_string(listener_.port()) +
           "/strata?sslmode=disable&gssencmode=disable";
  }
  /// The next who connects; waits for it.
  UniqueFd accept() { return listener_.accept(); }
  bool somebody_waits() const {
    pollfd waiting{.fd = listener_.fd(), .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, 0) == 1;
  }

 private:
  const LoopbackListener listener_;
};

class PostgresDatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    STRATA_SKIP_WITHOUT_POSTGRES();
    place_ = PostgresServer::shared().create_database();
  }
  void TearDown() override {
    if (!PostgresServer::is_installed()) return;
    const auto started = PostgresServer::shared().start();
    EXPECT_TRUE(started) << started.error().message << started.error().detail;
  }

  std::unique_ptr<PostgresDatabase> open(PostgresOptions options = {},
                                         std::span<const SqlText> schema = kSchema) {
    if (options.url.empty()) options.url = place_.url;
    auto database = PostgresDatabase::create(options, schema, clock_);
    EXPECT_TRUE(database);
    return std::move(database).value();
  }

  /// With a server's patience of 400 ms, for what is waited for in vain.
  std::unique_ptr<PostgresDatabase> open_impatient() {
    return open({.timeouts = {.statement = std::chrono::milliseconds(400)}});
  }

  static Result<void> put(PostgresDatabase& database, std::string_view word) {
    return database.write("INSERT INTO strata.words (word) VALUES ($1)", {word});
  }

  static Result<std::vector<std::string>> words(PostgresDatabase& database) {
    return database.read<std::string>("SELECT word FROM strata.words ORDER BY word", {},
                                      [](const PostgresRow& row) { return row.text(0); });
  }

  static void expect_error(const Result<void>& result, Code code, std::string_view message) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, code) << result.error().detail;
    EXPECT_EQ(result.error().message, message) << result.error().detail;
    for (const std::string& text : {result.error().message, result.error().detail}) {
      EXPECT_EQ(text.find("p@s"), std::string::npos) << text;
      EXPECT_EQ(text.find("s/w"), std::string::npos) << text;
      EXPECT_EQ(text.find("%2F"), std::string::npos) << text;
    }
  }

  PostgresServer::Database place_;
  FakeClock clock_{WallTime{}};
};

TEST_F(PostgresDatabaseTest, AwayItFailsAtOnceUntilItIsTimeToTryAgain) {
  PostgresServer& server = PostgresServer::shared();
  server.stop();
  const auto database = open();
  expect_error(database->ping(), Code::kIo, kOutOfReach);
  ASSERT_TRUE(server.start());
  // Nothing was tried: it would have worked.
  expect_error(database->ping(), Code::kIo, kOutOfReach);
  clock_.advance(kPostgresRetryPause);
  ASSERT_TRUE(put(*database, "kept"));

  server.stop();
  expect_error(put(*database, "lost"), Code::kIo, kOutOfReach);
  ASSERT_TRUE(server.start());
  clock_.advance(kPostgresRetryPause);
  EXPECT_TRUE(database->ping());
  EXPECT_EQ(words(*database).value(), (std::vector<std::string>{"a", "kept"}));
}

TEST_F(PostgresDatabaseTest, WhoeverListensButSaysNothingIsOutOfReachInTime) {
  const SilentListener listener;
  const auto database =
      open({.url = listener.url(), .timeouts = {.connect = std::chrono::seconds(1)}});
  expect_error(database->ping(), Code::kIo, kOutOfReach);
}

TEST_F(PostgresDatabaseTest, WhileOneTriesAgainTheOthersFailAtOnce) {
  SilentListener listener;
  const auto database = open({.url = listener.url()});
  const auto ping = [&] { expect_error(database->ping(), Code::kIo, kOutOfReach); };
  {
    const std::jthread first(ping);
    listener.accept();
  }
  clock_.advance(kPostgresRetryPause);
  const std::jthread trying(ping);
  const UniqueFd held = listener.accept();
  ping();
  EXPECT_FALSE(listener.somebody_waits());
}

TEST_F(PostgresDatabaseTest, ARestartBetweenTwoCallsIsNotNoticed) {
  const auto database = open();
  ASSERT_TRUE(put(*database, "kept"));
  PostgresServer::shared().stop();
  ASSERT_TRUE(PostgresServer::shared().start());
  EXPECT_EQ(words(*database).value(), (std::vector<std::string>{"a", "kept"}));
}

TEST_F(PostgresDatabaseTest, AWrongPasswordIsNotRepeated) {
  const std::string wrong = percent_encode("p@s:s/wrong%2F");
  const auto database = open({.url = "postgresql://" + std::string(PostgresServer::kUser) + ":" +
                                     wrong + place_.url.substr(place_.url.find('@'))});
  expect_error(database->ping(), Code::kIo, kOutOfReach);
}

TEST_F(PostgresDatabaseTest, AServerThatFallsSilentIsOutOfReachInTime) {
  const auto database = open_impatient();
  std::vector<pid_t> sessions;
  const auto note_session = [&](auto&& meanwhile) {
    const auto read = database->read<int>("SELECT pg_backend_pid()", {}, [&](const auto& row) {
      sessions.push_back(static_cast<pid_t>(*row.number(0)));
      meanwhile();
      return 0;
    });
    EXPECT_TRUE(read);
  };
  note_session([&] { note_session([] {}); });
  ASSERT_EQ(sessions.size(), 2U);
  for (const pid_t session : sessions) ASSERT_EQ(::kill(session, SIGSTOP), 0);
  expect_error(put(*database, "maybe"), Code::kIo, kOutOfReach);
  EXPECT_TRUE(put(*database, "later")) << "the other session is not asked, a new one answers";
  for (const pid_t session : sessions) ASSERT_EQ(::kill(session, SIGCONT), 0);
}

TEST_F(PostgresDatabaseTest, WhoStandsInTheWayMakesItBusy) {
  const auto database = open_impatient();
  ASSERT_TRUE(database->ping());
  PostgresClient outside(place_.admin_url);
  outside.run("BEGIN; LOCK TABLE strata.words");
  expect_error(put(*database, "a word"), Code::kBusy,
               "The catalog is being written by somebody else; try again.");
  outside.run("ROLLBACK");
  EXPECT_TRUE(put(*database, "a word"));
  expect_error(database->write("SELECT pg_sleep(600)", {}), Code::kBusy,
               "PostgreSQL took too long to answer; try again.");
  EXPECT_EQ(words(*database).value(), (std::vector<std::string>{"a", "a word"}));
}

TEST_F(PostgresDatabaseTest, ManyThreadsShareFewConnections) {
  const auto database = open({.connections_max = 2});
  std::latch all(8);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        all.arrive_and_wait();
        const auto done = put(*database, "word " + std::to_string(i));
        EXPECT_TRUE(done) << done.error().message << done.error().detail;
      });
    }
  }
  EXPECT_EQ(words(*database).value().size(), 9U);
  const std::string sessions = PostgresClient(place_.admin_url)
                                   .value(
                                       "SELECT count(*) FROM pg_stat_activity "
                                       "WHERE datname = current_database() "
                                       "AND application_name = 'strata'");
  EXPECT_TRUE(sessions == "1" || sessions == "2") << sessions;
}

TEST_F(PostgresDatabaseTest, WithEveryConnectionInUseItIsBusy) {
  const auto database =
      open({.timeouts = {.statement = std::chrono::milliseconds(400)}, .connections_max = 1});
  // The answer's rows are made while its connection is still in use.
  const auto outer = database->read<int>("SELECT 1", {}, [&](const PostgresRow&) {
    expect_error(database->ping(), Code::kBusy,
                 "The catalog has more to do than it can now; try again.");
    return 0;
  });
  EXPECT_TRUE(outer);
  EXPECT_TRUE(database->ping());
}

TEST_F(PostgresDatabaseTest, ATransactionIsAllOrNothing) {
  const auto database = open();
  const auto put_two = [&](SqlText second) {
    return database->transaction([&](PostgresConnection& session) -> Result<void> {
      STRATA_RETURN_IF_ERROR(session.run("INSERT INTO strata.words VALUES ('one', '')"));
      STRATA_RETURN_IF_ERROR(session.run(second));
      return {};
    });
  };
  expect_error(put_two("INSERT INTO strata.words VALUES ('a', 'again')"), Code::kInternal,
               "The catalog refused a statement of ours.");
  EXPECT_EQ(words(*database).value(), (std::vector<std::string>{"a"}));
  const Error changed_mind = make_error(Code::kConflict, "changed its mind");
  const auto given_up = database->transaction([&](PostgresConnection& session) -> Result<void> {
    STRATA_RETURN_IF_ERROR(session.run("INSERT INTO strata.words VALUES ('one', '')"));
    return changed_mind;
  });
  expect_error(given_up, Code::kConflict, changed_mind.message);
  EXPECT_EQ(words(*database).value(), (std::vector<std::string>{"a"}));
  EXPECT_TRUE(put_two("INSERT INTO strata.words VALUES ('two', '')"));
  EXPECT_EQ(words(*database).value(), (std::vector<std::string>{"a", "one", "two"}));
}

TEST_F(PostgresDatabaseTest, AProcessPausedInATransactionHoldsNobodyUp) {
  const auto paused = open_impatient();
  const auto other = open();
  const auto outcome = paused->transaction([&](PostgresConnection& session) -> Result<void> {
    STRATA_RETURN_IF_ERROR(session.run("LOCK TABLE strata.words"));
    EXPECT_TRUE(put(*other, "while it is paused"));
    STRATA_RETURN_IF_ERROR(session.run("SELECT 1"));
    return {};
  });
  expect_error(outcome, Code::kBusy, "PostgreSQL took too long to answer; try again.");
  EXPECT_TRUE(put(*paused, "after it"));
}

TEST_F(PostgresDatabaseTest, ManyAtAFreshDatabaseRunEachScriptOnce) {
  constexpr int kMany = 8;
  PostgresClient outside(place_.admin_url);
  outside.run("ALTER DATABASE " + place_.name +
              " SET default_transaction_isolation = 'repeatable read'");
  // Holds them all where each is about to begin. The number is a promise between versions.
  outside.run("SELECT pg_advisory_lock(126943972389985)");
  std::vector<std::unique_ptr<PostgresDatabase>> databases;
  for (int i = 0; i < kMany; ++i) {
    databases.push_back(open({.timeouts = {.statement = std::chrono::minutes(2)}}));
  }
  {
    std::vector<std::jthread> threads;
    for (const auto& database : databases) {
      threads.emplace_back([&] {
        const auto done = database->ping();
        EXPECT_TRUE(done) << done.error().message << done.error().detail;
      });
    }
    while (outside.value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' "
                         "AND NOT granted") != std::to_string(kMany) &&
           !HasFailure()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    outside.run("SELECT pg_advisory_unlock(126943972389985)");
  }
  EXPECT_EQ(outside.value("SELECT string_agg(version::text, ' ' ORDER BY version) "
                          "FROM strata.schema_version"),
            "1 2");
  EXPECT_EQ(words(*databases[0]).value(), (std::vector<std::string>{"a"}));
}

TEST_F(PostgresDatabaseTest, AnOlderSchemaIsBroughtUpToDateAScriptAtATime) {
  const auto first_version = open({}, std::span(kSchema).first(1));
  ASSERT_TRUE(put(*first_version, "old"));
  expect_error(open({}, kBrokenSchema)->ping(), Code::kInternal,
               "The catalog refused a statement of ours.");
  EXPECT_EQ(words(*first_version).value(), (std::vector<std::string>{"old"}));
  const auto second_version = open();
  EXPECT_EQ(words(*second_version).value(), (std::vector<std::string>{"a", "old"}));
}

TEST_F(PostgresDatabaseTest, ADatabaseThatComesBackEmptyGetsItsTablesAgain) {
  const auto database = open();
  ASSERT_TRUE(put(*database, "gone"));
  PostgresClient(place_.admin_url).run("DROP SCHEMA strata CASCADE");
  expect_error(put(*database, "refused"), Code::kInternal,
               "The catalog refused a statement of ours.");
  EXPECT_EQ(words(*database).value(), (std::vector<std::string>{"a"}));
}

TEST_F(PostgresDatabaseTest, AServerThatTakesNoWritesIsNoBugOfOurs) {
  ASSERT_TRUE(open()->ping());
  PostgresClient(place_.admin_url)
      .run("ALTER DATABASE " + place_.name + " SET default_transaction_read_only = on");
  expect_error(put(*open(), "refused"), Code::kIo,
               "PostgreSQL takes no writes: it is a standby or set to read-only. Let --postgres "
               "name the primary.");
}

TEST_F(PostgresDatabaseTest, AUserWithoutTheRightIsToldWhichItNeeds) {
  PostgresClient(place_.admin_url).run("ALTER DATABASE " + place_.name + " OWNER TO postgres");
  expect_error(open()->ping(), Code::kIo,
               "PostgreSQL does not let Strata's user use or make the schema 'strata': run GRANT "
               "CREATE ON DATABASE for that user, or make it the owner of the schema and its "
               "tables.");
}

TEST_F(PostgresDatabaseTest, ATextGoesWholeOrNotAtAll) {
  const auto database = open();
  expect_error(put(*database, std::string_view("cut\0short", 9)), Code::kInternal,
               "The catalog refused a statement of ours.");
  const std::string large(3'000'000, 'x');
  ASSERT_TRUE(put(*database, std::string_view()));
  ASSERT_TRUE(database->write("INSERT INTO strata.words VALUES ('b', $1)", {large}));
  const auto read =
      database->read<std::string>("SELECT meaning FROM strata.words ORDER BY word", {},
                                  [](const PostgresRow& row) { return row.text(0); });
  EXPECT_TRUE(read.value() == (std::vector<std::string>{"", "b", large}));
}

TEST_F(PostgresDatabaseTest, NoUrlIsRefusedBeforeAnythingIsTried) {
  const auto refused = PostgresDatabase::create({.url = "strata"}, kSchema, clock_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kBadRequest);
}

}  // namespace
}  // namespace strata::catalog
