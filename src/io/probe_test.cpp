#include "io/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "io/posix_file_system.h"
#include "io/testing/expect.h"
#include "io/testing/faulty_file_system.h"
#include "io/testing/mem_file_system.h"
#include "io/testing/temp_dir.h"

namespace strata::io {
namespace {

using ::testing::IsEmpty;

/// The four findings in the order of ProbeReport, `1` for yes.
std::string findings(const ProbeReport& report) {
  std::string text;
  for (const bool found :
       {report.no_replace, report.exchange, report.hard_links, report.directory_sync}) {
    text += found ? '1' : '0';
  }
  return text;
}

void expect_findings(const std::string& parent, const PosixOptions& options,
                     const std::string& expected) {
  const TempDir temp_dir(parent);
  const auto fs = make_posix_file_system(options);
  ASSERT_OK_AND_ASSIGN(const auto root, fs->open_directory(temp_dir.path()));
  ASSERT_OK_AND_ASSIGN(const ProbeReport report, probe(*fs, *root));
  EXPECT_EQ(findings(report), expected);
  EXPECT_THAT(fs->list(*root).value(), IsEmpty());
}

TEST(Probe, FindsEverythingOnTheTempFolder) { expect_findings(::testing::TempDir(), {}, "1111"); }

TEST(Probe, FindsEverythingOnTmpfs) {
  const std::string tmpfs = "/dev/shm";
  if (::access(tmpfs.c_str(), W_OK) != 0) GTEST_SKIP() << "skipped: no tmpfs to write to";
  expect_findings(tmpfs, {}, "1111");
}

TEST(Probe, TellsTheStandInFromTheRename) {
  expect_findings(::testing::TempDir(), {.rename_flags = false}, "0011");
}

struct Missing {
  Operation operation;
  std::string findings;
};

TEST(Probe, ReportsWhatIsMissing) {
  for (const Missing& missing :
       {Missing{Operation::kRenameNoReplace, "0111"}, Missing{Operation::kRenameExchange, "1011"},
        Missing{Operation::kLink, "1101"}, Missing{Operation::kSyncDirectory, "1110"}}) {
    MemFileSystem mem;
    FaultyFileSystem faulty(mem);
    ASSERT_OK_AND_ASSIGN(const auto root, faulty.open_directory("/"));
    faulty.fail_if([&](const FileCall& call) { return call.operation == missing.operation; },
                   Effect::kFailBefore);
    ASSERT_OK_AND_ASSIGN(const ProbeReport report, probe(faulty, *root));
    EXPECT_EQ(findings(report), missing.findings);
    EXPECT_THAT(mem.list(*root).value(), IsEmpty());
  }
}

TEST(Probe, AFullDiskIsAnErrorAndNoFinding) {
  for (const Operation operation :
       {Operation::kMakeDirectory, Operation::kWriteNew, Operation::kLink,
        Operation::kRenameNoReplace, Operation::kRenameExchange, Operation::kSyncDirectory}) {
    MemFileSystem mem;
    FaultyFileSystem faulty(mem);
    ASSERT_OK_AND_ASSIGN(const auto root, faulty.open_directory("/"));
    faulty.fail_if([&](const FileCall& call) { return call.operation == operation; },
                   Effect::kFailBefore, Code::kDiskFull);
    EXPECT_CODE(Code::kDiskFull, probe(faulty, *root));
    EXPECT_THAT(mem.list(*root).value(), IsEmpty());
  }
}

TEST(Probe, RefusesAFileSystemThatReplacesUnasked) {
  MemFileSystem mem;
  FaultyFileSystem faulty(mem);
  ASSERT_OK_AND_ASSIGN(const auto root, faulty.open_directory("/"));
  // The answer of a file system that takes the flag and does not heed it.
  faulty.fail_if(
      [](const FileCall& call) {
        return call.to_name == "b" && call.name == "a" &&
               call.operation == Operation::kRenameNoReplace;
      },
      Effect::kLost);
  EXPECT_CODE(Code::kIo, probe(faulty, *root));
  EXPECT_THAT(mem.list(*root).value(), IsEmpty());
}

TEST(Probe, LeavesNothingBehindWhicheverCallFails) {
  bool fired = true;
  for (std::uint64_t call = 0; fired; ++call) {
    MemFileSystem mem;
    FaultyFileSystem faulty(mem);
    ASSERT_OK_AND_ASSIGN(const auto root, faulty.open_directory("/"));
    // Taking away is what the promise rests on, so that is not what fails here.
    bool takes_away = false;
    faulty.fail_if(
        [&](const FileCall& seen) {
          if (seen.number != call + 1) return false;  // after open_directory
          takes_away =
              seen.operation == Operation::kUnlink || seen.operation == Operation::kRemoveDirectory;
          return !takes_away;
        },
        Effect::kFailBefore);
    ignore(probe(faulty, *root), "what it answers is the business of the tests above");
    fired = faulty.fired() || takes_away;
    EXPECT_THAT(mem.list(*root).value(), IsEmpty()) << "call " << call;
  }
}

}  // namespace
}  // namespace strata::io
