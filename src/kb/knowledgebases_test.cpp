#include "kb/knowledgebases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "io/posix_file_system.h"
#include "io/testing/expect.h"
#include "io/testing/faulty_file_system.h"
#include "io/testing/mem_file_system.h"
#include "io/testing/temp_dir.h"
#include "kb/testing/fake_worker_pool.h"

namespace strata::kb {
namespace {

using io::Effect;
using io::FileCall;
using io::Operation;
using testing::ElementsAre;

KbId id(std::string_view text) { return KbId::parse(text).value(); }

/// One process on a root: its own root, kbs and worker pool.
struct Process {
  Process(io::FileSystem& fs, io::FileSystem& worker_fs, const Clock& clock,
          const std::string& path)
      : root(Root::open(fs, clock, {.path = path}).value()),
        workers(worker_fs),
        kbs(Knowledgebases::create({fs, clock, *root, workers, acquisitions})) {}

  std::unique_ptr<Root> root;
  FakeWorkerPool workers;
  lock::AcquisitionCounter acquisitions;
  std::unique_ptr<Knowledgebases> kbs;
};

class KnowledgebasesTest : public testing::Test {
 protected:
  Process start() { return {faulty_, *fs_, clock_, path_}; }
  std::string content(const std::string& name) const {
    std::ifstream in(path_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void copy_kb(const std::string& from, const std::string& to) const {
    std::filesystem::copy(
        path_ + "/kb/" + from, path_ + "/kb/" + to,
        std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  }
  std::vector<std::string> tree(const std::string& below) const {
    std::vector<std::string> names;
    const std::filesystem::path base(path_ + "/" + below);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(base)) {
      names.push_back(entry.path().lexically_relative(base));
    }
    std::ranges::sort(names);
    return names;
  }

  const io::TempDir temp_;
  const std::string path_ = std::filesystem::canonical(temp_.path()).string() + "/it's [a] root";
  FakeClock clock_{SystemClock().wall()};
  const std::unique_ptr<io::FileSystem> fs_ = io::make_posix_file_system();
  io::FaultyFileSystem faulty_{*fs_};
};

std::vector<std::string> ids_of(const Result<std::vector<Knowledgebase*>>& kbs) {
  EXPECT_OK(kbs);
  std::vector<std::string> ids;
  if (!kbs) return ids;
  for (Knowledgebase* kb : *kbs) ids.push_back(kb->id().str());
  return ids;
}

TEST_F(KnowledgebasesTest, CreateMakesTheWholeLayout) {
  Process process = start();
  ASSERT_OK_AND_ASSIGN(Knowledgebase * kb, process.kbs->create(id("demo"), "file"));
  EXPECT_EQ(kb->id().str(), "demo");
  EXPECT_EQ(kb->backend(), "file");
  EXPECT_EQ(kb->created_at(), format_iso8601(clock_.wall()));
  EXPECT_EQ(kb->folder(), path_ + "/kb/demo");
  EXPECT_EQ(kb->streams().path(), path_ + "/kb/demo/strata/streams");
  EXPECT_EQ(kb->generations().newest().value().number, 1U);
  EXPECT_THAT(tree("kb/demo"),
              ElementsAre("catalog.sqlite", "generations", "generations/000001.duckdb", "kb.json",
                          "knowledgebase.duckdb", "staging", "strata", "strata/ontology",
                          "strata/snapshots", "strata/streams", "strata/tables"));
  EXPECT_EQ(content("kb/demo/kb.json"), R"({"uuid":")" + kb->uuid() +
                                            R"(","backend":"file","created":")" + kb->created_at() +
                                            "\",\"settings\":{\"time_zone\":\"UTC\"}}\n");
  EXPECT_EQ(
      process.root->catalog().knowledgebases().value(),
      (std::vector<catalog::KnowledgebaseRow>{{"demo", kb->uuid(), "file", kb->created_at()}}));

  ASSERT_OK(kb->catalog().put_receiver({"weather", "{}"}));
  ASSERT_OK(kb->lock().acquire({"demo", "weather", lock::Purpose::kView}));
  EXPECT_TRUE(std::filesystem::exists(path_ + "/kb/demo/.lock"));
  EXPECT_EQ(process.acquisitions.snapshot().size(), 1U);
}

TEST_F(KnowledgebasesTest, AnotherProcessFindsItAndARestartToo) {
  Process one = start();
  Process two = start();
  ASSERT_OK_AND_ASSIGN(Knowledgebase * made, one.kbs->create(id("demo"), "file"));
  ASSERT_OK_AND_ASSIGN(Knowledgebase * found, two.kbs->find(id("demo")));
  EXPECT_EQ(found->uuid(), made->uuid());
  EXPECT_EQ(found->created_at(), made->created_at());
  EXPECT_EQ(two.kbs->find(id("demo")).value(), found);
  EXPECT_EQ(two.workers.ddl_calls(), 0);
  for (Process* process : {&one, &two}) {
    const auto again = process->kbs->create(id("demo"), "file");
    EXPECT_CODE(Code::kConflict, again);
    EXPECT_EQ(again.error().message, "Knowledgebase 'demo' exists already.");
  }
  ASSERT_OK(two.kbs->create(id("acme"), "file"));
  EXPECT_THAT(ids_of(one.kbs->list()), ElementsAre("acme", "demo"));
}

TEST_F(KnowledgebasesTest, OtherBackendsAreRefusedAndMakeNothing) {
  Process process = start();
  EXPECT_CODE(Code::kBadRequest, process.kbs->create(id("demo"), "postgres"));
  EXPECT_CODE(Code::kBadRequest, process.kbs->create(id("demo"), "mysql"));
  EXPECT_FALSE(std::filesystem::exists(path_ + "/kb/demo"));
}

TEST_F(KnowledgebasesTest, AnUnknownOneIsToldWithTheNearestAndTheWayToMakeIt) {
  Process process = start();
  ASSERT_OK(process.kbs->create(id("demo"), "file"));
  const struct {
    std::string asked;
    std::string message;
  } kCases[] = {
      {"dmo",
       "There is no knowledgebase 'dmo'. Did you mean 'demo'? `strata kb create dmo` makes it."},
      {"weather", "There is no knowledgebase 'weather'. `strata kb create weather` makes it."},
  };
  for (const auto& test : kCases) {
    const auto unknown = process.kbs->find(id(test.asked));
    EXPECT_CODE(Code::kUnknownKnowledgebase, unknown);
    EXPECT_EQ(unknown.error().message, test.message);
    EXPECT_FALSE(std::filesystem::exists(path_ + "/kb/" + test.asked));
  }
}

TEST_F(KnowledgebasesTest, WhatIsNoKbIsIgnoredAndADamagedOneTakesNoOtherAway) {
  Process process = start();
  ASSERT_OK(process.kbs->create(id("demo"), "file"));
  for (const char* folder : {"half-made", "No Id", "damaged", "unheard"}) {
    std::filesystem::create_directories(path_ + "/kb/" + folder);
  }
  std::ofstream(path_ + "/kb/No Id/kb.json") << content("kb/demo/kb.json");
  std::ofstream(path_ + "/kb/damaged/kb.json") << "{";
  std::ofstream(path_ + "/kb/unheard/kb.json")
      << R"({"uuid":"u","backend":"unheard of","created":"2026-01-01T00:00:00.000000Z"})";
  std::ofstream(path_ + "/kb/file") << "x";
  EXPECT_THAT(ids_of(process.kbs->list()), ElementsAre("demo"));
  const auto unopened = process.kbs->unopened();
  ASSERT_EQ(unopened.size(), 2U);
  EXPECT_EQ(unopened[0].id, "damaged");
  EXPECT_EQ(unopened[0].error.message,
            "Knowledgebase 'damaged' could not be opened. The file kb.json of knowledgebase "
            "'damaged' is damaged: put it back from a backup.");
  EXPECT_EQ(unopened[1].id, "unheard");
  EXPECT_EQ(unopened[1].error.code, Code::kIo);  // not what a client did, nor a producer's batch
  EXPECT_CODE(Code::kIo, process.kbs->find(id("damaged")));
  EXPECT_CODE(Code::kUnknownKnowledgebase, process.kbs->find(id("half-made")));
}

TEST_F(KnowledgebasesTest, ACopyUnderAnotherNameIsAKbOfThatName) {
  Process process = start();
  ASSERT_OK_AND_ASSIGN(Knowledgebase * demo, process.kbs->create(id("demo"), "file"));
  std::filesystem::copy(path_ + "/kb/demo", path_ + "/kb/copy",
                        std::filesystem::copy_options::recursive);  // follows the symlink
  std::filesystem::rename(path_ + "/kb/demo", temp_.path() + "/away");
  ASSERT_OK_AND_ASSIGN(Knowledgebase * copy, process.kbs->find(id("copy")));
  EXPECT_EQ(copy->uuid(), demo->uuid());
  EXPECT_EQ(copy->generations().newest().value().file,
            path_ + "/kb/copy/generations/000001.duckdb");
  EXPECT_EQ(std::filesystem::read_symlink(path_ + "/kb/copy/knowledgebase.duckdb").string(),
            "generations/000001.duckdb");
}

TEST_F(KnowledgebasesTest, ARenamedFolderIsAKbOfThatName) {
  {
    Process process = start();
    ASSERT_OK(process.kbs->create(id("demo"), "file"));
  }
  std::filesystem::rename(path_ + "/kb/demo", path_ + "/kb/renamed");
  Process process = start();
  ASSERT_OK_AND_ASSIGN(Knowledgebase * renamed, process.kbs->find(id("renamed")));
  EXPECT_EQ(renamed->folder(), path_ + "/kb/renamed");
  EXPECT_CODE(Code::kUnknownKnowledgebase, process.kbs->find(id("demo")));
}

TEST_F(KnowledgebasesTest, ACopyBesideItsOriginalIsRefused) {
  {
    Process process = start();
    ASSERT_OK(process.kbs->create(id("demo"), "file"));
  }
  // Its name sorts first, so that it is opened before the original.
  copy_kb("demo", "copy");
  Process process = start();
  ASSERT_OK_AND_ASSIGN(const auto listed, process.kbs->list());
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed.front()->id(), id("demo"));
  ASSERT_EQ(process.kbs->unopened().size(), 1U);
  EXPECT_EQ(process.kbs->unopened().front().id, "copy");
  EXPECT_THAT(process.kbs->unopened().front().error.message,
              testing::HasSubstr("UUID of knowledgebase 'demo'"));
  // The original moved away: the copy is it now.
  std::filesystem::rename(path_ + "/kb/demo", temp_.path() + "/away");
  Process later = start();
  EXPECT_OK(later.kbs->find(id("copy")));
}

TEST_F(KnowledgebasesTest, OfTwinsWithoutTheListThatTellsThemApartNoneIsOpened) {
  std::string uuid;
  {
    Process process = start();
    ASSERT_OK_AND_ASSIGN(const Knowledgebase* kb, process.kbs->create(id("demo"), "file"));
    uuid = kb->uuid();
    ASSERT_OK(process.kbs->create(id("other"), "file"));
  }
  copy_kb("demo", "copy");
  for (const bool damaged : {false, true}) {
    std::filesystem::remove(path_ + "/strata.sqlite");
    if (damaged) std::ofstream(path_ + "/strata.sqlite") << "no database";
    Process process = start();
    EXPECT_THAT(ids_of(process.kbs->list()), ElementsAre("other"));
    const auto unopened = process.kbs->unopened();
    ASSERT_EQ(unopened.size(), 2U);
    EXPECT_EQ(unopened[0].id, "copy");
    EXPECT_EQ(unopened[1].id, "demo");
    EXPECT_THAT(unopened[0].error.message, testing::HasSubstr("UUID of knowledgebase 'demo'"));
    EXPECT_THAT(unopened[1].error.message, testing::HasSubstr("UUID of knowledgebase 'copy'"));
    EXPECT_THAT(unopened[1].error.message, testing::HasSubstr("list of knowledgebases"));
    EXPECT_CODE(Code::kConflict, process.kbs->find(id("demo")));
    EXPECT_CODE(Code::kConflict, process.kbs->find(id("copy")));
    // The copy moved out: the original is it again, in the same process.
    std::filesystem::rename(path_ + "/kb/copy", temp_.path() + "/away");
    EXPECT_THAT(ids_of(process.kbs->list()), ElementsAre("demo", "other"));
    EXPECT_EQ(process.kbs->find(id("demo")).value()->uuid(), uuid);
    std::filesystem::rename(temp_.path() + "/away", path_ + "/kb/copy");
    EXPECT_CODE(Code::kConflict, process.kbs->find(id("copy")));
  }
}

TEST_F(KnowledgebasesTest, ACopyUnderTheNameThatItsOriginalHadIsRefused) {
  {
    Process process = start();
    ASSERT_OK(process.kbs->create(id("demo"), "file"));
  }
  std::filesystem::rename(path_ + "/kb/demo", path_ + "/kb/renamed");
  Process process = start();
  ASSERT_OK(process.kbs->find(id("renamed")));
  copy_kb("renamed", "demo");
  // The root's catalog lists both, so a process that has not met the original opens neither.
  EXPECT_CODE(Code::kConflict, process.kbs->find(id("demo")));
  EXPECT_THAT(ids_of(process.kbs->list()), ElementsAre("renamed"));
  Process later = start();
  EXPECT_THAT(ids_of(later.kbs->list()), ElementsAre());
}

TEST_F(KnowledgebasesTest, OfTwoThatCreateAtOnceOneIsTold) {
  Process other = start();
  std::string uuid;
  Process process = start();
  faulty_.set_observer([&](const FileCall& call) {
    if (call.operation != Operation::kRenameNoReplace || call.to_name != "kb.json") return;
    faulty_.set_observer(nullptr);
    uuid = other.kbs->create(id("demo"), "file").value()->uuid();
  });
  EXPECT_CODE(Code::kConflict, process.kbs->create(id("demo"), "file"));
  EXPECT_EQ(process.kbs->find(id("demo")).value()->uuid(), uuid);
  EXPECT_THAT(tree("kb/demo/staging"), ElementsAre());
  EXPECT_THAT(tree("kb/demo/generations"), ElementsAre("000001.duckdb"));
}

// Nothing of the real disk is there: a kb's SQLite file cannot be made, and nothing waits for it.
const std::string kMemPath = "/no such folder on the real disk/root";

/// The first create is hit at one call, or killed there; the next one finishes what it began.
TEST(KnowledgebasesFaults, ACreateThatFailedAnywhereIsFinishedByTheNext) {
  enum class Kind { kBefore, kAfter, kKilled };
  for (const Kind kind : {Kind::kBefore, Kind::kAfter, Kind::kKilled}) {
    for (std::uint64_t call = 0;; ++call) {
      SCOPED_TRACE("call " + std::to_string(call));
      FakeClock clock{WallTime{}};
      io::MemFileSystem mem(&clock);
      io::FaultyFileSystem faulty(mem);
      Process first(faulty, mem, clock, kMemPath);
      if (kind == Kind::kKilled) {
        faulty.fail_from_call(call);
      } else {
        faulty.fail_call(call, kind == Kind::kBefore ? Effect::kFailBefore : Effect::kFailAfter);
      }
      const auto hit = first.kbs->create(id("demo"), "file");
      const bool fired = faulty.fired();
      faulty.heal();
      Process next(faulty, mem, clock, kMemPath);
      const auto found = next.kbs->find(id("demo"));
      if (hit) {
        EXPECT_EQ(found.value()->uuid(), (*hit)->uuid());
      } else {
        EXPECT_NE(hit.error().code, Code::kNotFound);
        EXPECT_NE(hit.error().code, Code::kExists);
      }
      if (found) {
        EXPECT_CODE(Code::kConflict, next.kbs->create(id("demo"), "file"));
      } else {
        EXPECT_CODE(Code::kUnknownKnowledgebase, found);
        EXPECT_OK(next.kbs->create(id("demo"), "file"));
      }
      EXPECT_EQ(next.kbs->find(id("demo")).value()->generations().newest().value().number, 1U);
      if (!fired) break;
    }
  }
}

TEST(KnowledgebasesPowerCut, ACreateIsWhollyThereOrFinishedByTheNext) {
  FakeClock clock{WallTime{}};
  io::MemFileSystem mem(&clock);
  io::FaultyFileSystem faulty(mem);
  Process process(faulty, mem, clock, kMemPath);
  std::uint64_t states = 0;
  faulty.set_observer([&](const FileCall& call) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const auto cut = mem.clone();
      cut->crash(seed == 0 ? io::MemFileSystem::Keep::kNothing : io::MemFileSystem::Keep::kSome,
                 call.number * 10 + seed);
      Process rebooted(*cut, *cut, clock, kMemPath);
      const auto found = rebooted.kbs->find(id("demo"));
      if (!found) {
        EXPECT_CODE(Code::kUnknownKnowledgebase, found);
        EXPECT_OK(rebooted.kbs->create(id("demo"), "file"));
      }
      ++states;
    }
  });
  ASSERT_OK_AND_ASSIGN(Knowledgebase * made, process.kbs->create(id("demo"), "file"));
  EXPECT_GT(states, 100U);
  faulty.set_observer(nullptr);
  mem.crash(io::MemFileSystem::Keep::kNothing);
  Process rebooted(mem, mem, clock, kMemPath);
  ASSERT_OK_AND_ASSIGN(Knowledgebase * found, rebooted.kbs->find(id("demo")));
  EXPECT_EQ(found->uuid(), made->uuid());
}

/// The test above would not be worth much if it passed a create that leaves out a sync.
TEST(KnowledgebasesPowerCut, ACreateThatLeavesOutASyncIsCaught) {
  for (const Operation left_out : {Operation::kSyncFile, Operation::kSyncDirectory}) {
    FakeClock clock{WallTime{}};
    io::MemFileSystem mem(&clock);
    io::FaultyFileSystem faulty(mem);
    Process process(faulty, mem, clock, kMemPath);
    faulty.fail_if([&](const FileCall& call) { return call.operation == left_out; }, Effect::kLost);
    ASSERT_OK(process.kbs->create(id("demo"), "file"));
    mem.crash(io::MemFileSystem::Keep::kNothing);
    Process rebooted(mem, mem, clock, kMemPath);
    EXPECT_FALSE(rebooted.kbs->find(id("demo")));
  }
}

}  // namespace
}  // namespace strata::kb
