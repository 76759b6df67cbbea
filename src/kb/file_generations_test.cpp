#include "kb/file_generations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <thread>

#include "base/limits.h"
#include "io/numbered.h"
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
using io::MemFileSystem;
using io::Operation;
using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

constexpr WallTime kStart{std::chrono::sys_days(std::chrono::year(2026) / 6 / 29)};
constexpr std::uint64_t kBytesMax = 1 << 20;
const std::string kFirst = "CREATE SCHEMA raw_extracted\nCREATE SCHEMA ontology\n";

std::vector<duck::Sql> ddl(std::string_view name) {
  duck::Sql sql("CREATE VIEW ");
  sql.ident(name);
  return {sql};
}
std::string line(const std::string& name) { return "CREATE VIEW \"" + name + "\"\n"; }

/// One kb's folder on some file system, and what a test looks at in it.
class KbFolder {
 public:
  KbFolder(io::FileSystem& fs, const Clock& clock, duck::WorkerPool& workers,
           const std::string& path)
      : fs_(fs), clock_(clock), workers_(workers), kb_(fs.open_directory(path).value()) {}

  Result<std::unique_ptr<Generations>> open(const std::string& process = "local-00-1") {
    return open_generations(
        {.fs = fs_, .clock = clock_, .workers = workers_, .kb_folder = *kb_, .process = process});
  }

  const io::Directory& kb() const { return *kb_; }
  std::unique_ptr<io::Directory> folder(const std::string& name) {
    return fs_.open_directory_at({*kb_, name}).value();
  }
  std::vector<std::string> names(const std::string& name) {
    std::vector<std::string> names;
    const auto entries = fs_.list(*folder(name)).value();
    for (const io::DirEntry& entry : entries) names.push_back(entry.name);
    std::ranges::sort(names);
    return names;
  }
  std::string content(const std::string& generation) {
    return fs_.read({*folder("generations"), generation}, kBytesMax).value();
  }
  std::string newest_content() {
    const std::string file = open().value()->newest().value().file;
    return content(file.substr(file.rfind('/') + 1));
  }
  mode_t mode(const std::string& generation) {
    return fs_.stat({*folder("generations"), generation}).value().mode;
  }
  std::string symlink() { return fs_.read_link({*kb_, "knowledgebase.duckdb"}).value(); }

 private:
  io::FileSystem& fs_;
  const Clock& clock_;
  duck::WorkerPool& workers_;
  std::unique_ptr<io::Directory> kb_;
};

class GenerationsTest : public testing::Test {
 protected:
  GenerationsTest() {
    EXPECT_OK(mem_.make_path(kPath));
    at_.emplace(mem_, clock_, workers_, kPath);
  }

  const std::string kPath = "/data it's/kb/demo";
  FakeClock clock_{kStart};
  MemFileSystem mem_{&clock_};
  FakeWorkerPool workers_{mem_};
  std::optional<KbFolder> at_;
};

TEST_F(GenerationsTest, TheFirstHoldsTheEmptySchemas) {
  ASSERT_OK_AND_ASSIGN(const auto generations, at_->open());
  ASSERT_OK_AND_ASSIGN(const Generation newest, generations->newest());
  EXPECT_EQ(newest.number, 1U);
  EXPECT_EQ(newest.file, kPath + "/generations/000001.duckdb");
  EXPECT_EQ(at_->content("000001.duckdb"), kFirst);
  EXPECT_EQ(at_->mode("000001.duckdb"), 0444U);
  EXPECT_EQ(at_->symlink(), "generations/000001.duckdb");
  EXPECT_THAT(at_->names("staging"), ElementsAre());
  // Opened again it is as it was.
  ASSERT_OK(at_->open());
  EXPECT_THAT(at_->names("generations"), ElementsAre("000001.duckdb"));
  EXPECT_EQ(workers_.ddl_calls(), 1);
}

TEST_F(GenerationsTest, PublishAddsToACopyOfTheNewest) {
  ASSERT_OK_AND_ASSIGN(const auto generations, at_->open());
  ASSERT_OK(generations->publish(ddl("a")));
  ASSERT_OK_AND_ASSIGN(const Generation third, generations->publish(ddl("b")));
  EXPECT_EQ(third.number, 3U);
  EXPECT_EQ(third.file, kPath + "/generations/000003.duckdb");
  EXPECT_EQ(at_->content("000003.duckdb"), kFirst + line("a") + line("b"));
  EXPECT_EQ(at_->content("000002.duckdb"), kFirst + line("a"));
  EXPECT_EQ(at_->mode("000003.duckdb"), 0444U);
  EXPECT_EQ(at_->symlink(), "generations/000003.duckdb");
  EXPECT_THAT(at_->names("staging"), ElementsAre());
}

TEST_F(GenerationsTest, DdlThatFailsOrLeavesAWalPublishesNothing) {
  ASSERT_OK_AND_ASSIGN(const auto generations, at_->open());
  workers_.on_ddl = [](const duck::DdlSpec&) -> Result<void> {
    return make_error(Code::kSqlError, "no");
  };
  EXPECT_CODE(Code::kSqlError, generations->publish(ddl("a")));
  workers_.on_ddl = nullptr;
  workers_.leave_wal = true;
  EXPECT_CODE(Code::kInternal, generations->publish(ddl("a")));
  EXPECT_THAT(at_->names("generations"), ElementsAre("000001.duckdb"));
  EXPECT_THAT(at_->names("staging"), ElementsAre());
}

TEST_F(GenerationsTest, AFullDiskIsToldBeforeAnythingIsWritten) {
  ASSERT_OK_AND_ASSIGN(const auto generations, at_->open());
  const std::uint64_t needed = kFirst.size() + limits::kFreeBytesReserveMin;
  mem_.set_free_bytes(needed - 1);
  const auto full = generations->publish(ddl("a"));
  EXPECT_CODE(Code::kDiskFull, full);
  EXPECT_EQ(full.error().message,
            "The disk is too full to publish a version of the knowledgebase: 64 MiB are free, 65 "
            "MiB are needed. Free some space and try again.");
  EXPECT_EQ(workers_.ddl_calls(), 1);
  mem_.set_free_bytes(needed);
  EXPECT_OK(generations->publish(ddl("a")));
}

TEST_F(GenerationsTest, AFullDiskHasNoFirstOneEither) {
  mem_.set_free_bytes(limits::kFreeBytesReserveMin - 1);
  EXPECT_CODE(Code::kDiskFull, at_->open());
  EXPECT_EQ(workers_.ddl_calls(), 0);
  mem_.set_free_bytes(limits::kFreeBytesReserveMin);
  EXPECT_OK(at_->open());
}

TEST_F(GenerationsTest, CollectionEmptiesTheOldButFreesNoNumber) {
  ASSERT_OK_AND_ASSIGN(const auto generations, at_->open());
  for (const char* name : {"a", "b", "c", "d"}) ASSERT_OK(generations->publish(ddl(name)));
  const auto sizes = [&] {
    std::vector<std::uint64_t> all;
    for (const auto& name : at_->names("generations")) all.push_back(at_->content(name).size());
    return all;
  };
  // All five are younger than an hour.
  EXPECT_EQ(std::ranges::count(sizes(), 0U), 0);
  clock_.advance(std::chrono::hours(1));
  ASSERT_OK(generations->publish(ddl("e")));
  EXPECT_EQ(std::ranges::count(sizes(), 0U), 0);  // an hour old is not yet old
  clock_.advance(std::chrono::nanoseconds(1));
  ASSERT_OK(generations->publish(ddl("f")));
  // 7 and 6 are young, 5 is among the newest three.
  EXPECT_THAT(at_->names("generations"),
              ElementsAre("000001.duckdb", "000002.duckdb", "000003.duckdb", "000004.duckdb",
                          "000005.duckdb", "000006.duckdb", "000007.duckdb"));
  EXPECT_THAT(sizes(), ElementsAre(0, 0, 0, 0, testing::Gt(0U), testing::Gt(0U), testing::Gt(0U)));
  EXPECT_EQ(at_->mode("000001.duckdb"), 0444U);
  EXPECT_THAT(at_->names("staging"), ElementsAre());
  ASSERT_OK_AND_ASSIGN(const Generation next, generations->publish(ddl("g")));
  EXPECT_EQ(next.number, 8U);
}

TEST_F(GenerationsTest, WhileTheClockIsNotTrustedNothingIsDeletedByItsAge) {
  ASSERT_OK_AND_ASSIGN(const auto generations, at_->open());
  for (const char* name : {"a", "b", "c"}) ASSERT_OK(generations->publish(ddl(name)));
  const auto staging = at_->folder("staging");
  ASSERT_OK(mem_.write_new({*staging, "old.duckdb"}, "x"));
  clock_.advance(std::chrono::hours(24));
  clock_.trust(false);
  ASSERT_OK(at_->open());
  ASSERT_OK(generations->publish(ddl("d")));
  EXPECT_THAT(at_->names("staging"), ElementsAre("old.duckdb"));
  EXPECT_GT(at_->content("000001.duckdb").size(), 0U);
  clock_.trust(true);
  ASSERT_OK(at_->open());
  ASSERT_OK(generations->publish(ddl("e")));
  EXPECT_THAT(at_->names("staging"), ElementsAre());
  EXPECT_EQ(at_->content("000001.duckdb").size(), 0U);
}

TEST_F(GenerationsTest, AWriterThatSleptStartsAgainFromTheNewerOne) {
  ASSERT_OK_AND_ASSIGN(const auto slow, at_->open("local-00-1"));
  ASSERT_OK_AND_ASSIGN(const auto other, at_->open("local-00-2"));
  std::string others = kFirst;
  // While the slow one runs its DDL, 20 others publish and its number becomes a tombstone.
  bool slept = false;
  workers_.on_ddl = [&](const duck::DdlSpec&) -> Result<void> {
    if (std::exchange(slept, true)) return {};
    for (int i = 0; i < 20; ++i) {
      clock_.advance(std::chrono::hours(2));
      const std::string name = "other" + std::to_string(i);
      EXPECT_OK(other->publish(ddl(name)));
      others += line(name);
    }
    return {};
  };
  ASSERT_OK_AND_ASSIGN(const Generation late, slow->publish(ddl("slow")));
  EXPECT_EQ(late.number, 22U);
  EXPECT_EQ(at_->content("000022.duckdb"), others + line("slow"));
  EXPECT_EQ(at_->content("000002.duckdb"), "");
  EXPECT_EQ(at_->symlink(), "generations/000022.duckdb");
  EXPECT_THAT(at_->names("staging"), ElementsAre());
}

TEST_F(GenerationsTest, NewestIsTheHighestWithContentByListing) {
  ASSERT_OK_AND_ASSIGN(const auto generations, at_->open());
  ASSERT_OK(generations->publish(ddl("a")));
  const auto folder = at_->folder("generations");
  ASSERT_OK(mem_.write_new({*folder, "000005.duckdb"}, ""));
  ASSERT_OK(mem_.write_new({*folder, "000009.duckdb.bak"}, "x"));
  ASSERT_OK(mem_.write_new({*folder, "7.duckdb"}, "x"));
  ASSERT_OK(mem_.make_directory({*folder, "000006.duckdb"}));
  EXPECT_EQ(generations->newest().value().number, 2U);
  ASSERT_OK_AND_ASSIGN(const Generation next, generations->publish(ddl("b")));
  EXPECT_EQ(next.number, 7U);
  EXPECT_EQ(at_->content("000007.duckdb"), kFirst + line("a") + line("b"));
}

TEST_F(GenerationsTest, WithoutAnyTheNextOpenMakesOneAgainUnderANewNumber) {
  ASSERT_OK_AND_ASSIGN(const auto generations, at_->open());
  const auto folder = at_->folder("generations");
  ASSERT_OK(mem_.unlink({*folder, "000001.duckdb"}));
  ASSERT_OK(mem_.write_new({*folder, "000004.duckdb"}, ""));
  EXPECT_CODE(Code::kNotFound, generations->newest());
  EXPECT_CODE(Code::kNotFound, generations->publish(ddl("a")));
  ASSERT_OK(at_->open());
  EXPECT_EQ(at_->content("000005.duckdb"), kFirst);
}

TEST_F(GenerationsTest, OpenMendsTheSymlink) {
  ASSERT_OK_AND_ASSIGN(const auto generations, at_->open());
  ASSERT_OK(generations->publish(ddl("a")));
  const io::Entry link{at_->kb(), "knowledgebase.duckdb"};
  ASSERT_OK(mem_.unlink(link));
  ASSERT_OK(at_->open());
  EXPECT_EQ(at_->symlink(), "generations/000002.duckdb");
  ASSERT_OK(mem_.unlink(link));
  ASSERT_OK(mem_.symlink("generations/000001.duckdb", link));
  ASSERT_OK(at_->open());
  EXPECT_EQ(at_->symlink(), "generations/000002.duckdb");
  ASSERT_OK(mem_.unlink(link));
  ASSERT_OK(mem_.write_new(link, "a copy that followed links"));
  ASSERT_OK(at_->open());
  EXPECT_EQ(at_->symlink(), "generations/000002.duckdb");
}

TEST_F(GenerationsTest, OpenSweepsWhatADeadProcessLeftAnHourAgo) {
  ASSERT_OK(at_->open());
  const auto staging = at_->folder("staging");
  ASSERT_OK(mem_.write_new({*staging, "old.duckdb"}, "x"));
  ASSERT_OK(mem_.symlink("generations/000001.duckdb", {*staging, "old.link"}));
  ASSERT_OK(mem_.make_directory({*staging, "old.generation"}));
  {
    ASSERT_OK_AND_ASSIGN(const auto old, mem_.open_directory_at({*staging, "old.generation"}));
    ASSERT_OK(mem_.write_new({*old, "copy.duckdb"}, "x"));
  }
  clock_.advance(std::chrono::minutes(61));
  ASSERT_OK(mem_.write_new({*staging, "young.duckdb"}, "x"));
  ASSERT_OK(at_->open());
  EXPECT_THAT(at_->names("staging"), ElementsAre("young.duckdb"));
}

TEST_F(GenerationsTest, ViewsAreAskedOfAWorkerOnceANumber) {
  ASSERT_OK_AND_ASSIGN(const auto generations, at_->open());
  ASSERT_OK_AND_ASSIGN(const Generation second, generations->publish(ddl("a")));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto views, generations->views(second));
    ASSERT_EQ(views.size(), 3U);
    EXPECT_EQ(views[2].name, "CREATE VIEW \"a\"");
  }
  EXPECT_EQ(workers_.views_calls(), 1);
  EXPECT_CODE(Code::kNotFound, generations->views({9, kPath + "/generations/000009.duckdb"}));
  EXPECT_CODE(Code::kNotFound, generations->views({9, kPath + "/generations/000009.duckdb"}));
  EXPECT_EQ(workers_.views_calls(), 3);  // a failure is no answer to keep
}

/// Threads of two processes publish at once, without the lock that queues them.
void publish_at_once(KbFolder& at, FakeWorkerPool& workers) {
  workers.on_ddl = [](const duck::DdlSpec&) -> Result<void> {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that the others overtake it
    return {};
  };
  constexpr int kThreads = 4;
  constexpr int kEach = 5;
  std::vector<std::string> wanted = {"CREATE SCHEMA raw_extracted", "CREATE SCHEMA ontology"};
  {
    std::array processes = {at.open("local-00-1").value(), at.open("local-00-2").value()};
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      Generations* const generations = processes[static_cast<std::size_t>(i) % 2].get();
      threads.emplace_back([generations, i] {
        for (int j = 0; j < kEach; ++j) {
          EXPECT_OK(generations->publish(ddl(std::to_string(i * kEach + j))));
        }
      });
    }
  }
  std::vector<std::string> numbers;
  for (int i = 1; i <= kThreads * kEach + 1; ++i) {
    numbers.push_back(io::numbered_name(static_cast<std::uint64_t>(i), ".duckdb"));
    if (i > 1) wanted.push_back("CREATE VIEW \"" + std::to_string(i - 2) + "\"");
  }
  EXPECT_EQ(at.names("generations"), numbers);
  std::istringstream newest(at.content(numbers.back()));
  std::vector<std::string> lines;
  for (std::string text; std::getline(newest, text);) lines.push_back(text);
  EXPECT_THAT(lines, UnorderedElementsAreArray(wanted));
  EXPECT_EQ(at.symlink(), "generations/" + numbers.back());
  EXPECT_THAT(at.names("staging"), ElementsAre());
}

TEST_F(GenerationsTest, OfPublishesAtOnceNoneIsLost) { publish_at_once(*at_, workers_); }

TEST(GenerationsOnDisk, OfPublishesAtOnceNoneIsLost) {
  const io::TempDir temp;
  const SystemClock clock;
  const auto fs = io::make_posix_file_system();
  FakeWorkerPool workers(*fs);
  KbFolder at(*fs, clock, workers, temp.path());
  publish_at_once(at, workers);
}

TEST_F(GenerationsTest, ACallThatFailsLeavesANewestThatIsWhole) {
  for (const Effect effect : {Effect::kFailBefore, Effect::kFailAfter}) {
    for (std::uint64_t call = 0;; ++call) {
      SCOPED_TRACE("call " + std::to_string(call));
      FakeClock clock(kStart);
      MemFileSystem mem(&clock);
      FakeWorkerPool workers(mem);
      ASSERT_OK(mem.make_path(kPath));
      io::FaultyFileSystem faulty(mem);
      KbFolder at(faulty, clock, workers, kPath);
      ASSERT_OK_AND_ASSIGN(const auto generations, at.open());
      for (int i = 0; i < 3; ++i) ASSERT_OK(generations->publish({}));
      clock.advance(std::chrono::hours(2));  // so that there is something to collect
      faulty.fail_call(call, effect);
      const auto published = generations->publish(ddl("a"));
      const bool fired = faulty.fired();
      faulty.heal();
      if (published) {
        EXPECT_EQ(at.newest_content(), kFirst + line("a"));
      } else {
        EXPECT_THAT(at.newest_content(), testing::AnyOf(kFirst, kFirst + line("a")));
        EXPECT_NE(published.error().code, Code::kNotFound);
        EXPECT_NE(published.error().code, Code::kExists);
      }
      ASSERT_OK(generations->publish(ddl("b")));
      EXPECT_THAT(at.newest_content(),
                  testing::AnyOf(kFirst + line("b"), kFirst + line("a") + line("b")));
      EXPECT_EQ("generations/" + at.names("generations").back(), at.symlink());
      if (!fired) break;
    }
  }
}

/// What a power cut left, seen by the process that starts after it.
std::string newest_after(MemFileSystem& mem, const Clock& clock, const std::string& path) {
  FakeWorkerPool workers(mem);
  KbFolder at(mem, clock, workers, path);
  return at.newest_content();
}

TEST_F(GenerationsTest, AfterAPowerCutAtAnyCallTheNewestIsWhole) {
  ASSERT_OK(at_->open());
  io::FaultyFileSystem faulty(mem_);
  KbFolder at(faulty, clock_, workers_, kPath);
  ASSERT_OK_AND_ASSIGN(const auto generations, at.open());
  ASSERT_OK(generations->publish({}));
  ASSERT_OK(generations->publish({}));
  clock_.advance(std::chrono::hours(2));
  std::uint64_t states = 0;
  faulty.set_observer([&](const FileCall& call) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const auto cut = mem_.clone();
      cut->crash(seed == 0   ? MemFileSystem::Keep::kNothing
                 : seed == 1 ? MemFileSystem::Keep::kEverything
                             : MemFileSystem::Keep::kSome,
                 call.number * 100 + seed);
      EXPECT_THAT(newest_after(*cut, clock_, kPath), testing::AnyOf(kFirst, kFirst + line("a")));
      ++states;
    }
  });
  ASSERT_OK(generations->publish(ddl("a")));
  EXPECT_GT(states, 100U);
  mem_.crash(MemFileSystem::Keep::kNothing);
  EXPECT_EQ(newest_after(mem_, clock_, kPath), kFirst + line("a"));
  EXPECT_EQ(KbFolder(mem_, clock_, workers_, kPath).mode("000004.duckdb"), 0444U);
}

/// The test above would not be worth much if it passed a publish that leaves out a sync.
TEST_F(GenerationsTest, APublishThatLeavesOutASyncIsCaught) {
  for (const Operation left_out : {Operation::kSyncFile, Operation::kSyncDirectory}) {
    FakeClock clock(kStart);
    MemFileSystem mem(&clock);
    FakeWorkerPool workers(mem);
    ASSERT_OK(mem.make_path(kPath));
    io::FaultyFileSystem faulty(mem);
    KbFolder at(faulty, clock, workers, kPath);
    ASSERT_OK_AND_ASSIGN(const auto generations, at.open());
    faulty.fail_if([&](const FileCall& call) { return call.operation == left_out; }, Effect::kLost);
    ASSERT_OK(generations->publish(ddl("a")));
    mem.crash(MemFileSystem::Keep::kNothing);
    EXPECT_NE(newest_after(mem, clock, kPath), kFirst + line("a"));
  }
}

}  // namespace
}  // namespace strata::kb
