#include "io/numbered.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "io/posix_file_system.h"
#include "io/testing/expect.h"
#include "io/testing/faulty_file_system.h"
#include "io/testing/mem_file_system.h"
#include "io/testing/temp_dir.h"

namespace strata::io {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kSuffix = ".json";
constexpr std::uint64_t kCrashSeeds = 16;

TEST(NumberedName, IsSixDigitsAndMoreAfterThose) {
  struct Row {
    std::uint64_t number;
    std::string name;
  };
  const Row rows[] = {{0, "000000.json"},
                      {17, "000017.json"},
                      {999'999, "999999.json"},
                      {1'000'000, "1000000.json"},
                      {std::numeric_limits<std::uint64_t>::max(), "18446744073709551615.json"}};
  for (const Row& row : rows) {
    EXPECT_EQ(numbered_name(row.number, kSuffix), row.name);
    EXPECT_EQ(parse_numbered(row.name, kSuffix), row.number);
  }
}

TEST(NumberedName, NothingElseParses) {
  for (const std::string_view name :
       {"", "17.json", "00017.json", "0000017.json", "000017", "000017.jsonx", "000017.duckdb",
        "+00017.json", "-00017.json", " 00017.json", "00001a.json", "x000017.json", ".json",
        "000017.json.ab12", "18446744073709551616.json", "01000000.json"}) {
    EXPECT_EQ(parse_numbered(name, kSuffix), std::nullopt) << name;
  }
  EXPECT_EQ(parse_numbered("000017", ""), 17U);
}

/// A folder of numbered files with 1 in it, durable, and a staging folder.
struct Setting {
  std::unique_ptr<Directory> folder, staging;

  static Setting open(FileSystem& fs, const std::string& root) {
    const auto opened = fs.open_directory(root).value();
    Setting setting;
    setting.folder = fs.open_directory_at({*opened, "folder"}).value();
    setting.staging = fs.open_directory_at({*opened, "staging"}).value();
    return setting;
  }
  static void make(FileSystem& fs, const std::string& root) {
    const auto opened = fs.open_directory(root).value();
    for (const std::string_view name : {"folder", "staging"}) {
      ASSERT_OK(ensure_directory(fs, {*opened, name}));
    }
    const Setting setting = open(fs, root);
    ASSERT_OK(publish_numbered(fs, setting.publish(1, "old")));
  }
  NumberedPublish publish(std::uint64_t number, std::string_view bytes) const {
    return {*folder, *staging, number, kSuffix, bytes};
  }
};

TEST(PublishNumbered, TheHighestNumberHolds) {
  MemFileSystem mem;
  Setting::make(mem, "/");
  const Setting setting = Setting::open(mem, "/");
  EXPECT_EQ(read_newest(mem, *setting.staging, kSuffix).value(), std::nullopt);
  ASSERT_OK(publish_numbered(mem, setting.publish(1'000'000, "newest")));
  ASSERT_OK(publish_numbered(mem, setting.publish(999'999, "older")));
  ASSERT_OK(mem.write_new({*setting.folder, "9999999.duckdb"}, "of another suffix"));
  ASSERT_OK(mem.make_directory({*setting.folder, "9999999.json"}));
  ASSERT_OK_AND_ASSIGN(const auto newest, read_newest(mem, *setting.folder, kSuffix));
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->number, 1'000'000U);
  EXPECT_EQ(newest->bytes, "newest");
}

TEST(PublishNumbered, ATakenNumberStaysAsItIs) {
  MemFileSystem mem;
  Setting::make(mem, "/");
  const Setting setting = Setting::open(mem, "/");
  EXPECT_CODE(Code::kExists, publish_numbered(mem, setting.publish(1, "late")));
  EXPECT_EQ(read_newest(mem, *setting.folder, kSuffix).value()->bytes, "old");
  EXPECT_THAT(mem.list(*setting.staging).value(), IsEmpty());
}

TEST(PublishNumbered, RefusesWhatCouldNotBeReadAgain) {
  MemFileSystem mem;
  Setting::make(mem, "/");
  const Setting setting = Setting::open(mem, "/");
  const std::string largest(kNumberedBytesMax, 'x');
  EXPECT_CODE(Code::kInternal, publish_numbered(mem, setting.publish(2, largest + "x")));
  ASSERT_OK(publish_numbered(mem, setting.publish(2, largest)));
  EXPECT_EQ(read_newest(mem, *setting.folder, kSuffix).value()->bytes.size(), kNumberedBytesMax);
}

TEST(PublishNumbered, SyncsTheFileOnceAndItsFolderOnce) {
  MemFileSystem mem;
  Setting::make(mem, "/");
  FaultyFileSystem counting(mem);
  const Setting setting = Setting::open(counting, "/");
  std::vector<Operation> steps;
  counting.set_observer([&](const FileCall& call) { steps.push_back(call.operation); });
  ASSERT_OK(publish_numbered(counting, setting.publish(2, "new")));
  EXPECT_THAT(steps,
              ::testing::ElementsAre(Operation::kWriteNew, Operation::kSyncFile,
                                     Operation::kRenameNoReplace, Operation::kSyncDirectory));
  EXPECT_EQ(counting.calls(Operation::kSyncDirectory, "/folder"), 1U);
}

/// What must hold after any fault and any crash; empty, or what is wrong.
std::string broken_promise(FileSystem& fs, bool acknowledged) {
  const Setting setting = Setting::open(fs, "/");
  const auto newest = read_newest(fs, *setting.folder, kSuffix);
  if (!newest) return "unreadable: " + newest.error().detail;
  if (!*newest) return "nothing left";
  const Numbered& found = **newest;
  const bool is_old = found.number == 1 && found.bytes == "old";
  const bool is_new = found.number == 2 && found.bytes == "new";
  if (!is_old && !is_new) return "neither the old nor the new: " + found.bytes;
  if (acknowledged && !is_new) return "acknowledged, and lost";
  return {};
}

/// broken_promise of the disk as it is, and of what each kind of power cut would leave of it.
std::string broken_promise_after_crashes(const MemFileSystem& mem, bool acknowledged) {
  const auto as_it_is = mem.clone();
  if (std::string broken = broken_promise(*as_it_is, acknowledged); !broken.empty()) return broken;
  const auto after = [&](MemFileSystem::Keep keep, std::uint64_t seed) {
    const auto crashed = mem.clone();
    crashed->crash(keep, seed);
    return broken_promise(*crashed, acknowledged);
  };
  for (std::uint64_t seed = 0; seed < kCrashSeeds; ++seed) {
    if (std::string broken = after(MemFileSystem::Keep::kSome, seed); !broken.empty()) {
      return "seed " + std::to_string(seed) + ": " + broken;
    }
  }
  std::string broken = after(MemFileSystem::Keep::kEverything, 0);
  return broken.empty() ? after(MemFileSystem::Keep::kNothing, 0) : broken;
}

/// Publishes number 2 with the fault that `arm` puts in; answers what it broke.
struct Outcome {
  bool fired = false;
  std::string broken;
  std::size_t left_in_staging = 0;
};
Outcome publish_with(const std::function<void(FaultyFileSystem&)>& arm) {
  MemFileSystem mem;
  Setting::make(mem, "/");
  FaultyFileSystem faulty(mem);
  const Setting setting = Setting::open(faulty, "/");
  std::string during;
  faulty.set_observer([&](const FileCall&) {
    if (during.empty()) during = broken_promise_after_crashes(mem, false);
  });
  arm(faulty);
  const Result<void> done = publish_numbered(faulty, setting.publish(2, "new"));
  Outcome outcome{faulty.fired(), during, mem.list(*setting.staging).value().size()};
  if (outcome.broken.empty()) {
    outcome.broken = broken_promise_after_crashes(mem, done.has_value());
  }
  return outcome;
}

TEST(PublishNumbered, FaultSweep) {
  for (const Effect effect : {Effect::kFailBefore, Effect::kFailAfter}) {
    std::uint64_t call = 0;
    for (;; ++call) {
      const Outcome outcome =
          publish_with([&](FaultyFileSystem& faulty) { faulty.fail_call(call, effect); });
      EXPECT_EQ(outcome.broken, "") << "call " << call;
      EXPECT_EQ(outcome.left_in_staging, 0U) << "call " << call;
      if (!outcome.fired) break;
    }
    EXPECT_EQ(call, 4U);
  }
}

TEST(PublishNumbered, KillSweep) {
  for (std::uint64_t call = 0;; ++call) {
    const Outcome outcome =
        publish_with([&](FaultyFileSystem& faulty) { faulty.fail_from_call(call); });
    EXPECT_EQ(outcome.broken, "") << "killed at call " << call;
    if (!outcome.fired) break;
  }
}

/// A suite that a missing step passes proves nothing.
TEST(PublishNumbered, TheSweepCatchesAMissingSync) {
  for (const Operation step : {Operation::kSyncFile, Operation::kSyncDirectory}) {
    const Outcome outcome = publish_with([&](FaultyFileSystem& faulty) {
      faulty.fail_if([step](const FileCall& call) { return call.operation == step; },
                     Effect::kLost);
    });
    EXPECT_TRUE(outcome.fired);
    EXPECT_NE(outcome.broken, "");
  }
}

TEST(PublishNumbered, ErrorsOfTheDiskPassThrough) {
  for (const Code code : {Code::kDiskFull, Code::kBusy, Code::kIo}) {
    MemFileSystem mem;
    Setting::make(mem, "/");
    FaultyFileSystem faulty(mem);
    const Setting setting = Setting::open(faulty, "/");
    faulty.fail_call(0, Effect::kFailBefore, code);
    EXPECT_CODE(code, publish_numbered(faulty, setting.publish(2, "new")));
  }
}

/// Threads race for each number on the same folder; every number has one winner, whose bytes stand.
void race(FileSystem& fs, const std::string& root) {
  constexpr std::uint64_t kNumbers = 200;
  Setting::make(fs, root);
  const Setting setting = Setting::open(fs, root);
  std::vector<std::string> winners(kNumbers + 2);
  std::atomic<int> unexpected = 0;
  std::atomic<std::uint64_t> won = 0;
  {
    std::vector<std::jthread> threads;
    for (const std::string& me : {std::string("first"), std::string("second")}) {
      threads.emplace_back([&, me] {
        for (std::uint64_t number = 2; number < kNumbers + 2; ++number) {
          const auto done = publish_numbered(fs, setting.publish(number, me));
          if (done) {
            winners[number] = me;
            ++won;
          } else if (done.error().code != Code::kExists) {
            ++unexpected;
          }
        }
      });
    }
  }
  EXPECT_EQ(won, kNumbers);
  EXPECT_EQ(unexpected, 0);
  for (std::uint64_t number = 2; number < kNumbers + 2; ++number) {
    EXPECT_EQ(fs.read({*setting.folder, numbered_name(number, kSuffix)}, 10).value(),
              winners[number]);
  }
  EXPECT_THAT(fs.list(*setting.folder).value(), SizeIs(kNumbers + 1));
  EXPECT_THAT(fs.list(*setting.staging).value(), IsEmpty());
}

TEST(PublishNumbered, OneOfTwoThreadsWinsANumber) {
  MemFileSystem mem;
  race(mem, "/");
  for (const bool rename_flags : {true, false}) {
    const TempDir temp_dir;
    const auto posix = make_posix_file_system({.rename_flags = rename_flags});
    race(*posix, temp_dir.path());
  }
}

TEST(ReadNewest, LooksAgainWhenAFileVanishesAfterTheListing) {
  MemFileSystem mem;
  Setting::make(mem, "/");
  FaultyFileSystem faulty(mem);
  const Setting setting = Setting::open(faulty, "/");
  ASSERT_OK(mem.write_new({*setting.folder, "000009.json"}, "goes away"));
  faulty.set_observer([&](const FileCall& call) {
    if (call.operation == Operation::kRead && call.name == "000009.json") {
      EXPECT_OK(mem.unlink({*setting.folder, "000009.json"}));
    }
  });
  EXPECT_EQ(read_newest(faulty, *setting.folder, kSuffix).value()->bytes, "old");
  EXPECT_EQ(faulty.calls(Operation::kList), 2U);
}

TEST(ReadNewest, GivesUpWhenFilesKeepVanishing) {
  MemFileSystem mem;
  Setting::make(mem, "/");
  FaultyFileSystem faulty(mem);
  const Setting setting = Setting::open(faulty, "/");
  faulty.fail_if([](const FileCall& call) { return call.operation == Operation::kRead; },
                 Effect::kFailBefore, Code::kNotFound);
  EXPECT_CODE(Code::kBusy, read_newest(faulty, *setting.folder, kSuffix));
  faulty.fail_if([](const FileCall& call) { return call.operation == Operation::kRead; },
                 Effect::kFailBefore, Code::kIo);
  EXPECT_CODE(Code::kIo, read_newest(faulty, *setting.folder, kSuffix));
}

TEST(PublishReplacing, OldOrNewWholeAfterEveryFaultAndCrash) {
  for (const Effect effect : {Effect::kFailBefore, Effect::kFailAfter}) {
    bool fired = true;
    for (std::uint64_t call = 0; fired; ++call) {
      MemFileSystem mem;
      Setting::make(mem, "/");
      FaultyFileSystem faulty(mem);
      const Setting setting = Setting::open(faulty, "/");
      const Entry anchor{*setting.folder, "anchor"};
      ASSERT_OK(publish_replacing(faulty, {anchor, *setting.staging, "old"}));
      faulty.fail_call(call, effect);
      const auto done = publish_replacing(faulty, {anchor, *setting.staging, "new"});
      fired = faulty.fired();
      EXPECT_EQ(done.has_value(), !fired);
      EXPECT_THAT(mem.list(*setting.staging).value(), IsEmpty());
      for (std::uint64_t seed = 0; seed < kCrashSeeds; ++seed) {
        const auto crashed = mem.clone();
        crashed->crash(seed == 0 ? MemFileSystem::Keep::kNothing : MemFileSystem::Keep::kSome,
                       seed);
        const Setting after = Setting::open(*crashed, "/");
        const std::string found = crashed->read({*after.folder, "anchor"}, 10).value();
        EXPECT_TRUE(found == "new" || (found == "old" && !done)) << found << " seed " << seed;
      }
    }
  }
}

TEST(PublishReplacing, MakesWhatWasNotThere) {
  MemFileSystem mem;
  Setting::make(mem, "/");
  const Setting setting = Setting::open(mem, "/");
  ASSERT_OK(publish_replacing(mem, {{*setting.folder, "anchor"}, *setting.staging, "first"}));
  mem.crash(MemFileSystem::Keep::kNothing);
  const Setting after = Setting::open(mem, "/");
  EXPECT_EQ(mem.read({*after.folder, "anchor"}, 10).value(), "first");
}

TEST(EnsureDirectory, IsDurableWhoeverMadeIt) {
  for (const bool made_before : {false, true}) {
    MemFileSystem mem;
    FaultyFileSystem counting(mem);
    ASSERT_OK_AND_ASSIGN(const auto root, counting.open_directory("/"));
    if (made_before) {  // by one that died unsynced
      ASSERT_OK(mem.make_directory({*root, "folder"}));
    }
    ASSERT_OK_AND_ASSIGN(const auto folder, ensure_directory(counting, {*root, "folder"}));
    EXPECT_EQ(folder->path(), "/folder");
    EXPECT_EQ(counting.calls(Operation::kSyncDirectory, "/"), 1U);
    mem.crash(MemFileSystem::Keep::kNothing);
    EXPECT_OK(mem.open_directory("/folder"));
  }
}

TEST(EnsureDirectory, ToleratesARaceAndReportsWhatStandsInTheWay) {
  MemFileSystem mem;
  FaultyFileSystem faulty(mem);
  ASSERT_OK_AND_ASSIGN(const auto root, faulty.open_directory("/"));
  faulty.set_observer([&](const FileCall& call) {
    if (call.operation == Operation::kMakeDirectory) {
      EXPECT_OK(mem.make_directory({*root, "folder"}));
    }
  });
  EXPECT_OK(ensure_directory(faulty, {*root, "folder"}));
  ASSERT_OK(mem.write_new({*root, "file"}, "x"));
  EXPECT_CODE(Code::kIo, ensure_directory(faulty, {*root, "file"}));
  faulty.fail_if([](const FileCall& call) { return call.operation == Operation::kSyncDirectory; },
                 Effect::kFailBefore);
  EXPECT_CODE(Code::kIo, ensure_directory(faulty, {*root, "folder"}));
}

}  // namespace
}  // namespace strata::io
