#include "kb/migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "io/testing/expect.h"
#include "io/testing/faulty_file_system.h"
#include "io/testing/mem_file_system.h"
#include "kb/catalog_file.h"

namespace strata::kb {
namespace {

using catalog::CatalogContent;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr BackendState kOnFile{.backend = Backend::kFile};
constexpr BackendState kMoving{.backend = Backend::kFile, .migrating = true};
constexpr BackendState kOnPostgres{.backend = Backend::kPostgres};

/// A catalog in memory, of which a migration uses these two calls.
class MemoryCatalog final : public catalog::Catalog {
 public:
  CatalogContent rows;
  std::function<Result<void>()> before_call = [] { return Result<void>(); };

  Result<CatalogContent> content() override {
    STRATA_RETURN_IF_ERROR(before_call());
    return rows;
  }
  Result<void> replace_content(const CatalogContent& content) override {
    STRATA_RETURN_IF_ERROR(before_call());
    rows = content;
    return {};
  }

  Result<void> put_manifest(const catalog::ManifestRow&) override { return unused(); }
  Result<std::vector<catalog::ManifestRow>> manifest() override { return unused(); }
  Result<void> put_receiver(const catalog::ReceiverRow&) override { return unused(); }
  Result<std::vector<catalog::ReceiverRow>> receivers() override { return unused(); }
  Result<void> remove_stream(const std::string&) override { return unused(); }
  catalog::Jobs& jobs() override { STRATA_CHECK(false); }
  catalog::OntologyVersions& ontology() override { STRATA_CHECK(false); }

 private:
  static Error unused() { return make_error(Code::kInternal, "not a migration's"); }
};

Error away() { return make_error(Code::kIo, "PostgreSQL is away."); }

void add_row(MemoryCatalog& catalog, const std::string& stream) {
  catalog.rows.manifest.push_back(
      {"raw_extracted.stream_" + stream, "stream:" + stream, 1, "ready"});
  catalog.rows.receivers.push_back({stream, "{}"});
}

/// A kb's folder with a catalog file in it.
struct World {
  World() {
    const auto root = mem.open_directory("/").value();
    EXPECT_OK(mem.make_directory({*root, "demo"}));
    folder = mem.open_directory_at({*root, "demo"}).value();
    EXPECT_OK(mem.write_new({*folder, kCatalogFile}, "rows"));
    add_row(file, "s");
    add_row(file, "t");
  }

  /// As by a process that has not met the kb yet.
  Result<void> run() {
    BackendHistory history(fs, *folder, first);
    return migrate({.fs = fs,
                    .kb_folder = *folder,
                    .history = history,
                    .file = file,
                    .postgres = postgres,
                    .reach_postgres = [this] { return reach_postgres(); },
                    .rebuild_index = [this] { return rebuild_index(); },
                    .put_root_row = [this] { return put_root_row(); },
                    .progress = progress});
  }
  BackendState state() { return BackendHistory(mem, *folder, first).newest().value().state; }
  void set_state(const BackendState& next) {
    BackendHistory history(mem, *folder, first);
    ASSERT_OK(history.append(history.newest().value(), next));
  }
  void expect_moved() {
    EXPECT_EQ(state(), kOnPostgres);
    EXPECT_EQ(postgres.rows, file.rows);
    EXPECT_GE(rebuilt, 1);
    EXPECT_GE(root_rows, 1);
    EXPECT_CODE(Code::kNotFound, mem.stat({*folder, kCatalogFile}));
    EXPECT_EQ(mem.read({*folder, kMigratedCatalogFile}, 100).value(), "rows");
  }

  FakeClock clock{WallTime{}};
  io::MemFileSystem mem{&clock};
  io::FaultyFileSystem fs{mem};
  std::unique_ptr<io::Directory> folder;
  MemoryCatalog file;
  MemoryCatalog postgres;
  Backend first = Backend::kFile;
  MigrationProgress progress;
  int rebuilt = 0;
  int root_rows = 0;
  std::function<Result<void>()> reach_postgres = [] { return Result<void>(); };
  std::function<Result<void>()> rebuild_index = [this] {
    EXPECT_EQ(state(), kOnPostgres);  // so that what looks for the catalog from here on finds it
    ++rebuilt;
    return Result<void>();
  };
  std::function<Result<void>()> put_root_row = [this] {
    ++root_rows;
    return Result<void>();
  };
};

TEST(Migration, MovesEveryRowAndKeepsTheFile) {
  World world;
  std::vector<std::string> steps;
  world.progress.step = [&](std::string_view step) { steps.emplace_back(step); };
  ASSERT_OK(world.run());
  world.expect_moved();
  const auto staging = world.mem.open_directory_at({*world.folder, "staging"}).value();
  EXPECT_TRUE(world.mem.list(*staging)->empty());
  EXPECT_THAT(steps, ElementsAre("Reaching PostgreSQL", "Copying the rows", "Comparing the rows",
                                 "Switching over", "Rebuilding the index"));
  // Again: it is there, and no row of PostgreSQL's is replaced.
  add_row(world.postgres, "later");
  const CatalogContent rows = world.postgres.rows;
  ASSERT_OK(world.run());
  EXPECT_EQ(world.postgres.rows, rows);
  EXPECT_EQ(world.rebuilt, 2);
}

TEST(Migration, OneThatWasMadeInPostgresHasItsIndexRebuilt) {
  World world;
  world.first = Backend::kPostgres;
  ASSERT_OK(world.mem.unlink({*world.folder, kCatalogFile}));
  ASSERT_OK(world.run());
  EXPECT_EQ(world.rebuilt, 1);
  EXPECT_TRUE(world.postgres.rows.manifest.empty());
}

TEST(Migration, WithPostgresAwayNothingChanges) {
  World world;
  world.reach_postgres = [] { return Result<void>(away()); };
  EXPECT_CODE(Code::kIo, world.run());
  EXPECT_CODE(Code::kNotFound, world.mem.stat({*world.folder, kBackendFolder}));
}

TEST(Migration, WhatWasAnsweredHoldsAfterAPowerCut) {
  World world;
  ASSERT_OK(world.mem.sync_directory(*world.mem.open_directory("/").value()));
  ASSERT_OK(world.mem.sync_file({*world.folder, kCatalogFile}));
  ASSERT_OK(world.mem.sync_directory(*world.folder));
  ASSERT_OK(world.run());
  world.mem.crash(io::MemFileSystem::Keep::kNothing);
  world.folder = world.mem.open_directory("/demo").value();
  world.expect_moved();
}

/// Each file call is hit once; the next migration, by another process, completes.
TEST(Migration, AFileCallMayFailAnywhere) {
  enum class Kind { kBefore, kAfter, kKilled };
  for (const Kind kind : {Kind::kBefore, Kind::kAfter, Kind::kKilled}) {
    for (std::uint64_t call = 0;; ++call) {
      SCOPED_TRACE("call " + std::to_string(call));
      World world;
      if (kind == Kind::kKilled) {
        world.fs.fail_from_call(call);
      } else {
        world.fs.fail_call(
            call, kind == Kind::kBefore ? io::Effect::kFailBefore : io::Effect::kFailAfter);
      }
      const auto hit = world.run();
      const bool fired = world.fs.fired();
      world.fs.heal();
      if (!hit && kind != Kind::kKilled && world.state() == kMoving) {
        EXPECT_THAT(hit.error().message, HasSubstr("cannot be changed until it is run again"));
      }
      EXPECT_OK(world.run());
      world.expect_moved();
      if (!fired) break;
    }
  }
}

TEST(Migration, ACatalogCallMayFailAnywhere) {
  bool past_the_last = false;
  for (int call = 0; !past_the_last; ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    World world;
    int calls = 0;
    const auto counted = [&]() -> Result<void> {
      if (calls++ == call) return away();
      return {};
    };
    world.file.before_call = counted;
    world.postgres.before_call = counted;
    const auto hit = world.run();
    past_the_last = calls <= call;
    EXPECT_EQ(hit.has_value(), past_the_last);
    if (!hit) {
      EXPECT_CODE(Code::kIo, hit);
      EXPECT_EQ(hit.error().message,
                "The catalog was not moved, and is in its file as before. PostgreSQL is away.");
      EXPECT_EQ(world.state(), kOnFile);
      EXPECT_OK(world.mem.stat({*world.folder, kCatalogFile}));
      EXPECT_OK(world.run());
    }
    world.expect_moved();
  }
}

TEST(Migration, WhatFailsAfterTheSwitchIsDoneByTheNext) {
  for (const auto failing : {&World::rebuild_index, &World::put_root_row}) {
    World world;
    const auto works = std::exchange(world.*failing, [] { return Result<void>(away()); });
    const auto hit = world.run();
    EXPECT_CODE(Code::kIo, hit);
    EXPECT_THAT(hit.error().message, StartsWith("The catalog is in PostgreSQL by now"));
    world.*failing = works;
    EXPECT_OK(world.run());
    world.expect_moved();
  }
}

TEST(Migration, ARowPutMeanwhileIsCopiedToo) {
  World world;
  int calls = 0;
  // Before the rows are read back.
  world.postgres.before_call = [&]() -> Result<void> {
    if (++calls == 2) add_row(world.file, "meanwhile");
    return {};
  };
  ASSERT_OK(world.run());
  EXPECT_EQ(world.postgres.rows.receivers.size(), 3U);
  world.expect_moved();
}

TEST(Migration, RowsThatKeepBeingPutEndIt) {
  World world;
  int calls = 0;
  world.postgres.before_call = [&]() -> Result<void> {
    if (++calls % 2 == 0) add_row(world.file, "s" + std::to_string(calls));
    return {};
  };
  const auto ended = world.run();
  EXPECT_CODE(Code::kBusy, ended);
  EXPECT_THAT(ended.error().message, HasSubstr("16 times in a row"));
  EXPECT_EQ(world.state(), kOnFile);
  EXPECT_EQ(calls, 2 * kMigrationCopies);
}

TEST(Migration, ACancelIsHeededUntilTheSwitch) {
  for (const bool before : {true, false}) {
    for (const std::string_view at :
         {"Reaching PostgreSQL", "Copying the rows", "Comparing the rows", "Switching over",
          "Rebuilding the index"}) {
      if (before != (at != "Switching over" && at != "Rebuilding the index")) continue;
      SCOPED_TRACE(at);
      World world;
      bool cancelled = false;
      world.progress.step = [&](std::string_view step) { cancelled |= step == at; };
      world.progress.cancelled = [&] { return cancelled; };
      const auto ended = world.run();
      if (before) {
        EXPECT_CODE(Code::kCancelled, ended);
        EXPECT_EQ(world.state(), kOnFile);
      } else {
        EXPECT_OK(ended);
        world.expect_moved();
      }
    }
  }
}

TEST(Migration, OneThatAnEndedProcessBeganIsFinishedOrTakenBack) {
  World world;
  world.set_state(kMoving);
  add_row(world.postgres, "left by the ended one");
  ASSERT_OK(world.run());
  world.expect_moved();

  World without;
  without.set_state(kMoving);
  without.postgres.before_call = [] { return Result<void>(away()); };
  EXPECT_CODE(Code::kIo, without.run());
  EXPECT_EQ(without.state(), kOnFile);
}

/// The lock that keeps them apart may lapse.
TEST(Migration, TwoAtOnceEndWithOneState) {
  for (const BackendState& other : {kOnPostgres, kOnFile}) {
    World world;
    int calls = 0;
    world.postgres.before_call = [&]() -> Result<void> {
      if (++calls == 1) world.set_state(other);
      return {};
    };
    EXPECT_CODE(Code::kBusy, world.run());
    EXPECT_EQ(world.state(), other);
    // What it copied may have hidden rows that came after the other's move.
    EXPECT_EQ(world.rebuilt, other == kOnPostgres ? 1 : 0);
    EXPECT_OK(world.run());
    world.expect_moved();
  }
}

TEST(Migration, OnePausedPastItsLockReplacesNothingThatAnotherMoved) {
  World world;
  world.file.before_call = [&]() -> Result<void> {
    if (world.state() != kMoving) return {};
    world.set_state(kOnPostgres);
    add_row(world.postgres, "later");
    return {};
  };
  EXPECT_CODE(Code::kBusy, world.run());
  EXPECT_EQ(world.postgres.rows.receivers.size(), 1U);
}

}  // namespace
}  // namespace strata::kb
