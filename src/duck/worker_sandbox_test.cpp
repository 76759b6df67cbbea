#include "duck/worker_sandbox.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "duck/worker_pool.h"

namespace strata::duck {
namespace {

namespace fs = std::filesystem;

using Answers = std::map<std::string, std::string>;

constexpr const char* kDone = "done";
constexpr const char* kDenied = "Permission denied";          // Landlock
constexpr const char* kRefused = "Operation not permitted";   // seccomp
constexpr const char* kUnknown = "Function not implemented";  // seccomp

const Answers& expected_of_a_query_worker() {
  static const Answers answers = {
      {"read a batch", kDone},
      {"make a batch", kDenied},
      {"write a batch", kDenied},
      {"cut a batch", kRefused},
      {"remove a batch", kDenied},
      {"rename a batch", kDenied},
      {"link a batch", kDenied},
      {"change a batch's mode", kRefused},
      {"make a folder", kDenied},
      {"read kb.json", kDenied},
      {"read another kb", kDenied},
      {"read a token", kDenied},
      {"read /etc/passwd", kDenied},
      {"list /", kDenied},
      {"write in staging", kDenied},
      {"a thread", kDone},
      {"socket", kRefused},
      {"socketpair", kRefused},
      {"connect", kRefused},
      {"execve", kRefused},
      {"fork", kRefused},
      {"kill the server", kRefused},
      {"kill the server's thread", kRefused},
      {"outlive the server", kRefused},
      {"ptrace", kRefused},
      {"limit the server", kRefused},
      {"io_uring", kRefused},
      {"mount", kRefused},
      {"memory without a limit", kRefused},
      {"a call of a later kernel", kUnknown},
      {"copy", kDenied},
  };
  return answers;
}

class WorkerSandboxTest : public testing::Test {
 protected:
  WorkerSandboxTest() {
    std::string name = (fs::temp_directory_path() / "strata-sandbox-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    for (const char* folder : {"kb/demo/strata/streams/s/data", "kb/demo/generations",
                               "kb/demo/staging/copy", "kb/other", "tokens"}) {
      fs::create_directories(root_ / folder);
    }
    for (const char* file : {"kb/demo/strata/streams/s/data/b.parquet", "kb/demo/kb.json",
                             "kb/other/batch", "tokens/t.json"}) {
      std::ofstream(root_ / file) << "as it was";
    }
  }
  ~WorkerSandboxTest() override { fs::remove_all(root_); }

  void SetUp() override {
    if (!can_be_sandboxed()) GTEST_SKIP() << "no sandbox in this build";
    if (!probe_sandbox().whole()) GTEST_SKIP() << unsafe_queries_reason(probe_sandbox());
  }

  /// What each attempt of the stub was answered.
  Answers attempt(const fs::path& kb, const std::string& folder) const {
    const std::string command = std::string(STRATA_WORKER_STUB) + " attempt '" + kb.string() +
                                "' '" + folder + "' </dev/null";
    std::FILE* output = ::popen(command.c_str(), "r");
    Answers answers;
    std::array<char, 256> line{};
    while (std::fgets(line.data(), line.size(), output) != nullptr) {
      const std::string text(line.data());
      const std::size_t colon = text.find(": ");
      answers[text.substr(0, colon)] = text.substr(colon + 2, text.size() - colon - 3);
    }
    EXPECT_EQ(::pclose(output), 0);
    return answers;
  }

  /// Every file below the root, with its size and its mode.
  std::set<std::string> listing() const {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      if (!entry.is_regular_file()) continue;
      found.insert(entry.path().string() + ' ' + std::to_string(entry.file_size()) + ' ' +
                   std::to_string(static_cast<unsigned>(entry.status().permissions())));
    }
    return found;
  }

  fs::path demo() const { return root_ / "kb/demo"; }

  fs::path root_;
};

TEST_F(WorkerSandboxTest, AQueryWorkerReadsItsKnowledgebaseAndDoesNothingElse) {
  const auto before = listing();
  EXPECT_EQ(attempt(demo(), ""), expected_of_a_query_worker());
  EXPECT_EQ(listing(), before);
}

TEST_F(WorkerSandboxTest, ADdlWorkerWritesBesideItsCopyAndNowhereElse) {
  const auto before = listing();
  Answers expected = expected_of_a_query_worker();
  expected["write the copy"] = kDone;
  expected["remove the copy"] = kDone;
  expected["make a folder beside the copy"] = kDenied;
  EXPECT_EQ(attempt(demo(), (demo() / "staging/copy").string()), expected);
  EXPECT_EQ(listing(), before);
}

// DuckDB's own allow-list lets a folder be written that may be read.
TEST_F(WorkerSandboxTest, DdlThatCopiesIntoAStreamFailsAndLeavesNoFile) {
  const auto pool = make_worker_pool({.program = STRATA_WORKER_STUB});
  const fs::path evil = demo() / "strata/streams/s/data/evil.parquet";
  const fs::path copy = demo() / "staging/copy/copy.duckdb";
  const auto copied =
      pool->run_ddl({.kb_folder = demo(),
                     .database_file = copy,
                     .statements = {Sql("COPY (SELECT 1) TO ").literal(evil.string())}});
  ASSERT_FALSE(copied);
  EXPECT_NE(copied.error().detail.find(kDenied), std::string::npos) << copied.error().detail;
  EXPECT_FALSE(fs::exists(evil));
}

// A view spells such a folder as a glob, which the engine finds by listing the folder around it.
TEST_F(WorkerSandboxTest, AFolderWithGlobCharactersIsReadLikeAnyOther) {
  const fs::path odd = root_ / "a [b]*/kb/demo";
  fs::create_directories(odd.parent_path());
  fs::rename(demo(), odd);
  fs::create_directories(odd.parent_path() / "other");
  std::ofstream(odd.parent_path() / "other/batch") << "theirs";
  const Answers answers = attempt(odd, "");
  EXPECT_EQ(answers.at("read a batch"), kDone);
  EXPECT_EQ(answers.at("read another kb"), kDenied);
  const auto pool = make_worker_pool({.program = STRATA_WORKER_STUB});
  std::ofstream(odd / "strata/streams/s/data/c.csv") << "a\n1\n";
  const auto done =
      pool->run_ddl({.kb_folder = odd,
                     .database_file = odd / "staging/copy/copy.duckdb",
                     .statements = {Sql("CREATE VIEW v AS SELECT * FROM read_csv(")
                                        .glob((odd / "strata/streams/s/data").string(), "/**/*.csv")
                                        .raw(")")}});
  EXPECT_TRUE(done) << done.error().detail;
}

TEST(WorkerSandboxSupportTest, NoSqlIsRunWithoutAWholeSandbox) {
  for (const auto& [support, missing] :
       {std::pair(SandboxSupport{.landlock_abi = 0, .seccomp = true}, "not offer Landlock,"),
        std::pair(SandboxSupport{.landlock_abi = 1, .seccomp = false}, "not offer seccomp,"),
        std::pair(SandboxSupport{}, "not offer Landlock and seccomp,")}) {
    const auto pool = make_worker_pool({.program = STRATA_WORKER_STUB, .sandbox = support});
    const auto refused = pool->query({.source = {"/kb", "/kb/generations/1"}, .sql = "SELECT 1"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kSqlRefused);
    EXPECT_NE(refused.error().message.find(missing), std::string::npos) << refused.error().message;
  }
  EXPECT_TRUE((SandboxSupport{.landlock_abi = 1, .seccomp = true}).whole());
}

}  // namespace
}  // namespace strata::duck
