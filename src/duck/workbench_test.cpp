#include "duck/workbench.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "duck/testing/children.h"
#include "duck/worker_limits.h"
#include "duck/worker_pool.h"

namespace strata::duck {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kLong{600'000};

const Sql kEndless(
    "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3");

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class WorkbenchTest : public testing::Test {
 protected:
  WorkbenchTest() {
    std::string name = (fs::temp_directory_path() / "strata-workbench-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    for (const char* kb : {"demo", "other"}) {
      for (const char* folder : {"strata/streams/s/data", "strata/snapshots", "strata/ontology",
                                 "generations", "staging/job", "staging/else"}) {
        fs::create_directories(root_ / "kb" / kb / folder);
      }
      std::ofstream(root_ / "kb" / kb / "strata/streams/s/data/b.csv") << "a,b\n1,x\n2,\n";
      std::ofstream(root_ / "kb" / kb / "generations/000001.duckdb") << "views";
    }
    pool_ = make_worker_pool({.program = STRATA_WORKER_STUB});
  }
  ~WorkbenchTest() override {
    bench_.reset();
    pool_.reset();
    EXPECT_EQ(children(), std::set<pid_t>());
    fs::remove_all(root_);
  }

  fs::path kb(const std::string& id = "demo") const { return root_ / "kb" / id; }
  fs::path folder() const { return kb() / "staging/job"; }
  fs::path batch(const std::string& id = "demo") const {
    return kb(id) / "strata/streams/s/data/b.csv";
  }

  Workbench& bench() {
    if (!bench_) {
      spec_.kb_folder = kb();
      spec_.write_folder = folder();
      auto opened = pool_->open_workbench(spec_);
      EXPECT_TRUE(opened) << opened.error().message << opened.error().detail;
      bench_ = std::move(opened).value();
    }
    return *bench_;
  }

  /// `done`, or the error's code.
  std::string run(const Sql& sql, milliseconds limit = kLong) {
    const auto done = bench().run(sql, limit);
    return done ? "done" : std::string(code_name(done.error().code));
  }
  std::string cell(const Sql& sql) {
    const auto rows = bench().rows(sql, 1, kLong);
    return rows ? rows->at(0).at(0).value_or("NULL") : std::string(code_name(rows.error().code));
  }
  static Sql copy_to(const fs::path& file) {
    return Sql("COPY (SELECT 1 AS a) TO ").literal(file.string()).raw(" (FORMAT PARQUET)");
  }
  /// Every file below the root, with its size.
  std::set<std::string> listing() const {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      if (!entry.is_regular_file()) continue;
      found.insert(entry.path().string() + ' ' + std::to_string(entry.file_size()));
    }
    return found;
  }

  fs::path root_;
  WorkbenchSpec spec_;
  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<Workbench> bench_;
};

TEST_F(WorkbenchTest, StepsBuildOnEachOtherAndCellsComeAsText) {
  EXPECT_EQ(run(Sql("CREATE TEMP TABLE t AS SELECT * FROM read_csv(")
                    .literal(batch().string())
                    .raw(", all_varchar=true)")),
            "done");
  const std::vector<TextRow> expected = {{"2", std::nullopt, "2.5", "2026-06-01"},
                                         {"1", "x", "1.5", "2026-06-01"}};
  EXPECT_EQ(bench()
                .rows(Sql("SELECT a, b, a::DOUBLE + 0.5 AS c, DATE '2026-06-01' AS d FROM t "
                          "ORDER BY a DESC"),
                      2, kLong)
                .value(),
            expected);
  const fs::path file = folder() / "t.parquet";
  EXPECT_EQ(run(Sql("COPY t TO ").literal(file.string()).raw(" (FORMAT PARQUET)")), "done");
  EXPECT_EQ(cell(Sql("SELECT count(*) FROM read_parquet(").literal(file.string()).raw(")")), "2");
  EXPECT_EQ(living_children().size(), 1U);
  EXPECT_EQ(listing().size(), 5U);  // what was there and that file
}

TEST_F(WorkbenchTest, WritesInItsFolderAndReadsTheTablesOfItsKbOnly) {
  EXPECT_EQ(run(copy_to(folder() / "a.parquet")), "done");
  const auto before = listing();
  for (const fs::path& file : {kb() / "staging/else/a.parquet", kb() / "a.parquet",
                               kb("other") / "staging/job/a.parquet", root_ / "a.parquet"}) {
    EXPECT_EQ(run(copy_to(file)), "Internal") << file;
  }
  if (can_be_sandboxed()) {
    // DuckDB's own allow-list lets a folder be written that may be read; the kernel does not.
    EXPECT_EQ(run(copy_to(kb() / "strata/streams/s/data/a.parquet")), "Io");
    EXPECT_EQ(run(copy_to(kb() / "strata/snapshots/a.parquet")), "Io");
  }
  for (const fs::path& file : {batch("other"), kb() / "generations/000001.duckdb",
                               kb() / "strata/streams/../../../other/strata/streams/s/data/b.csv",
                               fs::path("/etc/passwd")}) {
    EXPECT_EQ(cell(Sql("SELECT count(*) FROM read_text(").literal(file.string()).raw(")")),
              "Internal")
        << file;
  }
  EXPECT_EQ(run(Sql("SET threads = 1")), "Internal");
  EXPECT_EQ(listing(), before);
  EXPECT_EQ(cell(Sql("SELECT count(*) FROM read_csv(").literal(batch().string()).raw(")")), "2");
}

TEST_F(WorkbenchTest, SaysWhatWentWrongAndGoesOn) {
  EXPECT_EQ(run(Sql("SELEC 1")), "Internal");
  EXPECT_EQ(run(Sql("SELECT * FROM read_parquet(").literal(batch().string()).raw(")")), "Io");
  const auto many = bench().rows(Sql("FROM range(3)"), 2, kLong);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, Code::kInternal);
  const auto large = bench().rows(Sql("SELECT repeat('x', 17000000)"), 1, kLong);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Code::kInternal);
  EXPECT_EQ(cell(Sql("SELECT 'x' || repeat('y', 3000000)")), 'x' + std::string(3'000'000, 'y'));
  for (const auto& [reason, count] : pool_->deaths()) EXPECT_EQ(count, 0U) << reason;
}

TEST_F(WorkbenchTest, AStepOverItsTimeEndsTheWorkbench) {
  const auto late = bench().run(kEndless, milliseconds(200));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kTimeout);
  EXPECT_EQ(late.error().message, "a step of this job ran longer than 1 s");
  EXPECT_EQ(run(Sql("SELECT 1")), "Busy");
  EXPECT_EQ(living_children(), std::set<pid_t>());
  EXPECT_EQ(pool_->deaths().at("timeout"), 1U);
}

TEST_F(WorkbenchTest, WhatDoesNotFitIntoMemoryIsSpilledIntoItsFolder) {
  spec_.memory_bytes = 48ULL * 1024 * 1024;
  EXPECT_EQ(cell(Sql("SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY md5(i::VARCHAR)) AS n "
                     "FROM range(500000) t(i))")),
            "500000");
}

TEST_F(WorkbenchTest, AStepOverItsMemoryEndsTheWorkbench) {
  spec_.memory_bytes = 64ULL * 1024 * 1024;
  EXPECT_EQ(run(Sql("SELECT len(list(i)) FROM range(100000000) t(i)")), "OutOfMemory");
  EXPECT_EQ(run(Sql("SELECT 1")), "Busy");
  EXPECT_EQ(pool_->deaths().at("out_of_memory"), 1U);
}

TEST_F(WorkbenchTest, ACancelFromAnotherThreadEndsIt) {
  std::stop_source cancelled;
  spec_.cancel = cancelled.get_token();
  ASSERT_EQ(run(Sql("SELECT 1")), "done");
  auto running = std::async(std::launch::async, [this] { return run(kEndless); });
  cancelled.request_stop();
  EXPECT_EQ(running.get(), "Cancelled");
  EXPECT_EQ(living_children(), std::set<pid_t>());
  EXPECT_EQ(run(Sql("SELECT 1")), "Busy");
  // It was our own doing: no death to count.
  for (const auto& [reason, count] : pool_->deaths()) EXPECT_EQ(count, 0U) << reason;
}

TEST_F(WorkbenchTest, OneKilledFromOutsideIsBusy) {
  ASSERT_EQ(run(Sql("SELECT 1")), "done");
  ASSERT_EQ(::kill(*living_children().begin(), SIGKILL), 0);
  EXPECT_EQ(run(Sql("SELECT 1")), "Busy");
  EXPECT_EQ(pool_->deaths().at("killed"), 1U);
}

TEST_F(WorkbenchTest, GoesWithItsOwnerAndStandsBack) {
  ASSERT_EQ(run(Sql("SELECT 1")), "done");
  ASSERT_EQ(living_children().size(), 1U);
  const pid_t worker = *living_children().begin();
  EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(worker)), 19);
  if (limits_address_space()) {
    const std::string limits = read_file(fs::path("/proc") / std::to_string(worker) / "limits");
    EXPECT_NE(limits.find("Max address space         6442450944 "), std::string::npos) << limits;
  }
  bench_.reset();
  EXPECT_EQ(living_children(), std::set<pid_t>());
}

TEST_F(WorkbenchTest, WithoutAWorkerToBeHadItIsBusy) {
  pool_ = make_worker_pool({.program = root_ / "nosuch"});
  const auto opened = pool_->open_workbench({.kb_folder = kb(), .write_folder = folder()});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kBusy);
}

}  // namespace
}  // namespace strata::duck
