// The move of a kb's catalog to PostgreSQL, beside everything else that goes on in it. Its steps
// and what may fail in each are in kb/migration_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <future>

#include "catalog/postgres_catalog.h"
#include "catalog/sqlite_catalog.h"
#include "catalog/testing/postgres_server.h"
#include "stream/testing/stream_world.h"

namespace strata::stream {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

StreamId id(std::string_view text) { return StreamId::parse(text).value(); }

class MigrateTest : public testing::Test {
 protected:
  void SetUp() override {
    STRATA_SKIP_WITHOUT_POSTGRES();
    const auto place = catalog::PostgresServer::shared().create_database();
    for (auto* const postgres : {&one_postgres_, &two_postgres_}) {
      *postgres = catalog::make_postgres_database({.url = place.url}, world_.clock).value();
    }
    const Process maker(world_);  // of a root that asks no node for PostgreSQL
    one_ = std::make_unique<Process>(world_, "one", shared(*one_postgres_));
    two_ = std::make_unique<Process>(world_, "two", shared(*two_postgres_));
  }

  static kb::SharedServices shared(catalog::PostgresDatabase& postgres) {
    return {.postgres = &postgres};
  }
  static Result<void> migrate(Process& process, const kb::MigrationProgress& progress = {}) {
    return process.streams->migrate(process.knowledgebase(), "postgres", progress);
  }
  /// Runs `work` when a migration by the first process comes to `step`.
  Result<void> migrate_and_at(std::string_view step, const std::function<void()>& work) {
    return migrate(*one_, {.step = [&](std::string_view now) {
      if (now == step) work();
    }});
  }
  /// A catalog of one kind, wherever the kb's is.
  std::unique_ptr<catalog::Catalog> in_postgres() {
    return catalog::make_postgres_catalog(*one_postgres_, one_->knowledgebase().uuid());
  }
  std::unique_ptr<catalog::Catalog> in_file() {
    return catalog::make_sqlite_catalog(one_->knowledgebase().folder() + "/catalog.sqlite");
  }
  std::vector<std::string> indexed() {
    std::vector<std::string> sources;
    const auto rows = in_postgres()->manifest();
    EXPECT_OK(rows);
    for (const auto& row : *rows) sources.push_back(row.source);
    return sources;
  }

  World world_;
  std::unique_ptr<catalog::PostgresDatabase> one_postgres_;
  std::unique_ptr<catalog::PostgresDatabase> two_postgres_;
  std::unique_ptr<Process> one_;
  std::unique_ptr<Process> two_;
};

TEST_F(MigrateTest, EveryRowIsInPostgresAndEveryProcessLooksThere) {
  one_->stream("s");
  ASSERT_OK(one_->knowledgebase().catalog().put_manifest({"t", "upload:t", 7, "ready"}));
  const auto before = in_file()->content();
  ASSERT_OK(migrate(*one_));
  EXPECT_EQ(in_postgres()->content().value(), before.value());
  for (Process* process : {one_.get(), two_.get()}) {
    EXPECT_EQ(process->knowledgebase().backend(), "postgres");
    process->stream(process == one_.get() ? "of_one" : "of_two");
  }
  EXPECT_THAT(indexed(),
              UnorderedElementsAre("stream:s", "upload:t", "stream:of_one", "stream:of_two"));
  const std::filesystem::path folder = one_->knowledgebase().folder();
  EXPECT_FALSE(std::filesystem::exists(folder / "catalog.sqlite"));
  EXPECT_EQ(catalog::make_sqlite_catalog(folder / "catalog.sqlite.migrated")->content().value(),
            before.value());
  EXPECT_EQ(one_->root->catalog().knowledgebases()->front().backend, "postgres");

  Process later(world_, "later", shared(*one_postgres_));
  EXPECT_EQ(later.root->catalog().knowledgebases()->front().backend, "postgres");
}

TEST_F(MigrateTest, MeanwhileBatchesLandAndReceiversDoNotChange) {
  Stream& stream = two_->stream("s");
  one_->stream("s");
  int looks = 0;
  ASSERT_OK(migrate_and_at("Comparing the rows", [&] {
    ++looks;
    for (Process* process : {one_.get(), two_.get()}) {
      kb::Knowledgebase& kb = process->knowledgebase();
      const auto refused = process->streams->create(kb, id("fresh"), {});
      EXPECT_CODE(Code::kMigrating, refused);
      EXPECT_THAT(refused.error().message,
                  HasSubstr("run `strata kb migrate demo --backend postgres` again"));
      Stream& own = process->stream("s");
      EXPECT_CODE(Code::kMigrating,
                  process->streams->change(own, {.partition = "day"}, process->workers));
      EXPECT_CODE(Code::kMigrating, process->streams->remove(own));
      EXPECT_CODE(Code::kMigrating, process->streams->remove(kb));
    }
    EXPECT_TRUE(two_->land(stream, "b1", "{\"a\":\"1\"}\n"));
    EXPECT_TRUE(two_->views->want_and_wait(stream, std::chrono::seconds(60)));
    two_->indexes->wait_for_tries();
  }));
  EXPECT_GE(looks, 1);
  for (Process* process : {one_.get(), two_.get()}) process->stream("fresh");
  EXPECT_THAT(indexed(), UnorderedElementsAre("stream:s", "stream:fresh"));
  // The view's note was put into the file before the rows were compared.
  EXPECT_EQ(in_postgres()->manifest()->back().state, "ready");
}

TEST_F(MigrateTest, ARowThatTheFileLostIsThereAgain) {
  one_->stream("s");
  ASSERT_OK(in_file()->remove_stream("s"));
  ASSERT_OK(migrate(*one_));
  EXPECT_THAT(indexed(), ElementsAre("stream:s"));
  EXPECT_EQ(in_postgres()->receivers()->size(), 1U);
}

/// By a process that looked where the catalog is just before it moved.
TEST_F(MigrateTest, AReceiverPutBetweenTheCopyAndTheSwitchIsInPostgres) {
  Stream& gone = two_->stream("gone");
  ASSERT_OK(migrate_and_at("Switching over", [&] {
    const auto half = Stream::open(*two_->services, two_->knowledgebase(), id("late")).value();
    Receiver receiver;
    receiver.stream = "late";
    ASSERT_OK(half->publish_receiver({receiver, 0}));
    ASSERT_OK(half->close());
    ASSERT_OK(in_file()->put_receiver({"late", to_json(receiver)}));
    ASSERT_OK(in_file()->put_manifest(
        {"raw_extracted.stream_late", "stream:late", std::nullopt, "deferred"}));
    std::filesystem::rename(gone.publisher().stream().path(), world_.temp.path() + "/gone");
  }));
  EXPECT_THAT(indexed(), ElementsAre("stream:late"));
  EXPECT_THAT(in_postgres()->receivers().value(),
              ElementsAre(testing::Field(&catalog::ReceiverRow::stream, "late")));
}

/// As the job that moves it has beaten by the clock of a machine that goes wrong.
TEST_F(MigrateTest, AJobUnderWayIsNotAbandonedByPostgresClock) {
  ASSERT_OK(in_file()->jobs().start({.id = "j", .kind = "migrate", .owner = "one"}));
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open((one_->knowledgebase().folder() + "/catalog.sqlite").c_str(), &raw),
            SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "UPDATE jobs SET heartbeat = 0", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(raw);
  ASSERT_OK(migrate(*one_));
  ASSERT_OK(in_postgres()->jobs().fail_abandoned(std::chrono::seconds(30)));
  EXPECT_EQ(in_postgres()->jobs().job("j").value()->state, "running");
}

/// Or the row of one made anew under its id would be overwritten.
TEST_F(MigrateTest, OneThatWasMovedAsideMeanwhileIsNotListedAgain) {
  ASSERT_OK(migrate_and_at("Rebuilding the index", [&] {
    std::filesystem::rename(one_->knowledgebase().folder(), world_.temp.path() + "/aside");
    ASSERT_OK(one_->root->catalog().remove_knowledgebase("demo"));
  }));
  EXPECT_THAT(one_->root->catalog().knowledgebases().value(), testing::IsEmpty());
}

TEST_F(MigrateTest, TwoAtOnceMoveItOnce) {
  one_->stream("s");
  auto other = std::async(std::launch::async, [this] { return migrate(*two_); });
  EXPECT_OK(migrate(*one_));
  EXPECT_OK(other.get());
  EXPECT_THAT(indexed(), ElementsAre("stream:s"));
  const std::string moves = one_->knowledgebase().folder() + "/backend/";
  EXPECT_TRUE(std::filesystem::exists(moves + "000002.json"));
  EXPECT_FALSE(std::filesystem::exists(moves + "000003.json"));
  EXPECT_OK(migrate(*two_));
}

TEST_F(MigrateTest, APlaceThatIsNoneIsRefusedAndNothingChanges) {
  Process without(world_, "without");
  const auto refused = migrate(without);
  EXPECT_CODE(Code::kBadRequest, refused);
  EXPECT_THAT(refused.error().message, HasSubstr("--postgres"));
  EXPECT_CODE(Code::kBadRequest, one_->streams->migrate(one_->knowledgebase(), "file"));
  EXPECT_FALSE(std::filesystem::exists(one_->knowledgebase().folder() + "/backend"));
}

TEST_F(MigrateTest, ANodeWithoutPostgresLandsBatchesOfOneThatMoved) {
  Process without(world_, "without");
  Stream& stream = without.stream("s");
  ASSERT_OK(migrate(*one_));
  EXPECT_TRUE(without.land(stream, "b1", "{\"a\":\"1\"}\n"));
  EXPECT_CODE(Code::kIo, without.knowledgebase().catalog().manifest());
  Process later(world_, "later");
  EXPECT_TRUE(later.land(later.stream("s"), "b2", "{\"a\":\"1\"}\n"));
}

TEST_F(MigrateTest, ANodeWithoutPostgresLandsBatchesOfOneThatWasMadeThere) {
  const KbId made = KbId::parse("made").value();
  ASSERT_OK(one_->streams->create(*one_->kbs->create(made, "postgres").value(), id("s"), {}));
  Process without(world_, "without");
  const auto kb = without.kbs->find(made);
  ASSERT_OK(kb);
  Stream& stream = *without.streams->find(**kb, id("s")).value();
  EXPECT_TRUE(without.land(stream, "b1", "{\"a\":\"1\"}\n"));
  EXPECT_CODE(Code::kIo, (*kb)->catalog().manifest());
}

}  // namespace
}  // namespace strata::stream
