#include "duck/worker_error.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strata::duck {
namespace {

constexpr std::string_view kHint = "cells of raw streams are text: TRY_CAST(x AS DOUBLE)";

struct FailureCase {
  std::string text;
  Code code;
  std::string message;
};

TEST(WorkerErrorTest, GivesEachFailureItsCodeAndWords) {
  const std::vector<std::string> tables = {"raw_extracted.stream_x"};
  const StatementContext context{.kb_folder = "/srv/data/kb/demo",
                                 .sql = "",
                                 .tables = &tables,
                                 .memory_bytes = 512ULL * 1024 * 1024};
  const std::vector<FailureCase> cases = {
      {"Parser Error: syntax error at or near \"SELEC\"\n\nLINE 1: SELEC 1\n        ^",
       Code::kSqlError,
       "Parser Error: syntax error at or near \"SELEC\"\n\nLINE 1: SELEC 1\n        ^"},
      {"Catalog Error: Table with name stream_x does not exist!\nDid you mean "
       "\"knowledgebase.raw_extracted.stream_y\"?\n\nLINE 1: SELECT",
       Code::kUnknownTable,
       "Catalog Error: Table with name stream_x does not exist!\nDid you mean "
       "\"raw_extracted.stream_y\"?\n\nLINE 1: SELECT"},
      {"Catalog Error: Table with name \"s.t\" does not exist because schema \"s\" does not exist.",
       Code::kUnknownTable,
       "Catalog Error: Table with name \"s.t\" does not exist because schema \"s\" does not "
       "exist."},
      {"Catalog Error: Scalar Function with name nofn does not exist!\nDid you mean \"now\"?",
       Code::kSqlError,
       "Catalog Error: Scalar Function with name nofn does not exist!\nDid you mean \"now\"?"},
      {"Permission Error: Cannot access file \"/etc/pass wd\" - file system operations are "
       "disabled "
       "by configuration\n\nLINE 1: SELECT * FROM read_text('/etc/pass wd')",
       Code::kSqlRefused,
       "only the tables of this knowledgebase can be read: Permission Error: Cannot "
       "access "
       "file \"<path>\" - file system operations are disabled by configuration\n\nLINE 1: SELECT * "
       "FROM read_text('/etc/pass wd')"},
      {"IO Error: Cannot open file \"/srv/data/kb/demo/strata/streams/w/data/a.parquet\": No such "
       "file or directory",
       Code::kIo,
       "data/a.parquet of the stream w could not be read: send the query again; if it stays so, "
       "move the file out of the way with: strata verify demo w --quarantine"},
      {"Invalid Input Error: No magic bytes found at end of file "
       "'/srv/data/kb/demo/strata/streams/w/data/b.parquet'",
       Code::kIo,
       "data/b.parquet of the stream w could not be read: send the query again; if it stays so, "
       "move the file out of the way with: strata verify demo w --quarantine"},
      {"Invalid Error: Out of buffer", Code::kIo,
       "a file of this knowledgebase could not be read: send the query again; if it stays so, "
       "find the file with: strata verify demo"},
      {"Invalid Input Error: Failed to read file "
       "\"/srv/data/kb/demo/strata/streams/w/data/b.parquet\": Missing data page header",
       Code::kIo,
       "data/b.parquet of the stream w could not be read: send the query again; if it stays so, "
       "move the file out of the way with: strata verify demo w --quarantine"},
      {"Invalid Input Error: File '/srv/data/kb/demo/x.parquet' too small to be a Parquet file",
       Code::kIo,
       "a file of this knowledgebase could not be read: send the query again; if it stays so, "
       "find the file with: strata verify demo"},
      {"Invalid Input Error: Could not parse string \"Decompression failure\" according to format",
       Code::kSqlError,
       "Invalid Input Error: Could not parse string \"Decompression failure\" according to format"},
      {"Out of Memory Error: could not allocate block of size 256.0 KiB (243.9 MiB/244.1 MiB used)",
       Code::kOutOfMemory,
       "the query needs more memory than it may have (512 MiB): filter or aggregate earlier, name "
       "fewer columns, or add a LIMIT"},
      {"INTERRUPT Error: Interrupted!", Code::kTimeout, "the query overran its time"},
      {"INTERNAL Error: at /build/duckdb/src/x.cpp", Code::kSqlError,
       "the query engine failed on this statement: write it another way"},
      {"Conversion Error: invalid timestamp field format: "
       "\"/srv/data/kb/demo/strata/streams/w/data/a.parquet\"",
       Code::kSqlError,
       "Conversion Error: invalid timestamp field format: \"strata/streams/w/data/a.parquet\"\n" +
           std::string(kHint)},
  };
  for (const FailureCase& failure : cases) {
    const StatementFailure described = describe_failure(failure.text, context);
    EXPECT_EQ(code_name(described.error.code), code_name(failure.code)) << failure.text;
    EXPECT_EQ(described.error.message, failure.message);
    EXPECT_EQ(described.engine_broken, failure.text.starts_with("INTERNAL"));
    EXPECT_EQ(leads_outside(described.error), failure.text.starts_with("Permission Error"));
  }
}

// `SELECT error('Decompression failure')` is no fault of the server's, however the text is made.
TEST(WorkerErrorTest, WhatAStatementRaisesItselfIsItsOwn) {
  const StatementContext context{.kb_folder = "/kb", .sql = "", .raises = true};
  const std::string text = "Invalid Input Error: No magic bytes found at end of file";
  EXPECT_EQ(describe_failure(text, context).error.code, Code::kSqlError);
}

TEST(WorkerErrorTest, NamesTheMissingTableForTheCaller) {
  const std::vector<std::string> tables = {"raw_extracted.stream_x", "nosuch.t"};
  const StatementContext context{.kb_folder = "/kb", .sql = "", .tables = &tables};
  for (const auto& [text, table] : std::vector<std::pair<std::string, std::string>>{
           {"Catalog Error: Table with name Stream_X does not exist!", "raw_extracted.stream_x"},
           {"Catalog Error: Table with name \"nosuch.t\" does not exist because schema \"nosuch\" "
            "does not exist.",
            "nosuch.t"},
           {"Catalog Error: Table with name other does not exist!", ""}}) {
    EXPECT_EQ(describe_failure(text, context).error.detail, table);
  }
}

TEST(WorkerErrorTest, HintsAtTheCastWhereTextMeetsNumbers) {
  struct Case {
    std::string text;
    bool hint;
  };
  for (const auto& [text, hint] : std::vector<Case>{
           {"Binder Error: Cannot compare values of type VARCHAR and type INTEGER_LITERAL - an "
            "explicit cast is required",
            true},
           {"Binder Error: Cannot mix values of type VARCHAR and INTEGER_LITERAL in BETWEEN clause",
            true},
           {"Binder Error: No function matches the given name and argument types 'sum(VARCHAR)'. "
            "You",
            true},
           {"Binder Error: No function matches the given name and argument types '+(VARCHAR, "
            "INTEGER_LITERAL)'.",
            true},
           {"Conversion Error: Could not convert string 'abc' to DOUBLE", true},
           {"Conversion Error: invalid date field format: \"abc\", expected format is", true},
           {"Binder Error: Cannot combine types of VARCHAR and INTEGER_LITERAL - an", true},
           {"Binder Error: No function matches the given name and argument types "
            "'sum(DATE)'.\n\tsum(VARCHAR)",
            false},
           {"Binder Error: Referenced column \"VARCHAR\" not found in FROM clause!", false},
           {"Conversion Error: Type INT64 with value 999 can't be cast", false}}) {
    const std::string message =
        describe_failure(text, StatementContext{.kb_folder = "/kb", .sql = ""}).error.message;
    EXPECT_EQ(message, hint ? text + "\n" + std::string(kHint) : text);
  }
}

TEST(WorkerErrorTest, HidesPathsAndNothingElse) {
  for (const auto& [text, hidden] : std::vector<std::pair<std::string, std::string>>{
           {"at '/a b/c' and /d/e, x", "at '<path>' and <path>, x"},
           {"types '/(VARCHAR, DATE)' 1 / 2", "types '/(VARCHAR, DATE)' 1 / 2"},
           {"knowledgebase.s.t at /kb/strata/x", "s.t at strata/x"},
           {"http://host/a", "http://host/a"},
           {"x /etc/a\nLINE 1: '/etc/a'\n ^", "x <path>\nLINE 1: '/etc/a'\n ^"}}) {
    EXPECT_EQ(without_paths(text, "/kb"), hidden);
  }
}

}  // namespace
}  // namespace strata::duck
