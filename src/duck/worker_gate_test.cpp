#include "duck/worker_gate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strata::duck {
namespace {

class WorkerGateTest : public testing::Test {
 protected:
  WorkerGateTest() {
    EXPECT_EQ(duckdb_open(":memory:", database_.out()), DuckDBSuccess);
    EXPECT_EQ(duckdb_connect(database_.get(), connection_.out()), DuckDBSuccess);
  }

  Result<CheckedStatement> check(const std::string& sql) {
    return check_statement(connection_.get(), {.kb_folder = "/kb", .sql = sql});
  }

  Database database_;
  Connection connection_;
};

TEST_F(WorkerGateTest, LetsReadersThroughAndNamesTheirTables) {
  struct Case {
    std::string sql;
    std::vector<std::string> tables;
  };
  for (const auto& [sql, tables] : std::vector<Case>{
           {"SELECT 1", {}},
           {"SELECT 1;;  -- done", {}},
           {"/* why */ select 1", {}},
           {"VALUES (1)", {}},
           {"FROM raw_extracted.stream_a", {"raw_extracted.stream_a"}},
           {"SELECT * FROM Raw_Extracted.Stream_A JOIN knowledgebase.s.b USING (x), c",
            {"main.c", "raw_extracted.stream_a", "s.b"}},
           {"WITH a AS (FROM s.t), b AS (FROM a) SELECT (SELECT max(x) FROM s.u) FROM b",
            {"s.t", "s.u"}},
           {"WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 2 FROM r) FROM r", {}},
           {"SELECT * FROM s.t UNION ALL FROM s.v", {"s.t", "s.v"}},
           {"DESCRIBE s.t", {"s.t"}},
           {"SUMMARIZE s.t", {"s.t"}},
           {"SHOW TABLES", {}},
           {"PIVOT s.t ON a IN (1, 2) USING count(*)", {"s.t"}},
           {"SELECT * FROM range(3), unnest([1]), read_parquet('/kb/x.parquet')", {}},
           {"SELECT 'COPY x TO y; DROP TABLE z'", {}}}) {
    const auto checked = check(sql);
    ASSERT_TRUE(checked) << sql << ": " << checked.error().message;
    EXPECT_EQ(checked->tables, tables) << sql;
  }
}

TEST_F(WorkerGateTest, SeesTheManifestAndOwnFiles) {
  struct Case {
    std::string sql;
    bool manifest;
    bool files;
  };
  for (const auto& [sql, manifest, files] : std::vector<Case>{
           {"SELECT 1", false, false},
           {"FROM _strata_manifest", true, false},
           {"FROM main._Strata_Manifest", true, false},
           {"WITH m AS (FROM \"_STRATA_MANIFEST\") SELECT 1 FROM s.t JOIN m ON true", true, false},
           {"SELECT (SELECT count(*) FROM _strata_manifest)", true, false},
           {"DESCRIBE _strata_manifest", true, false},
           {"SELECT '_strata_manifest', _strata_manifest FROM s.t", false, false},
           {"FROM raw_extracted._strata_manifest", false, false},
           {"FROM 'a.parquet'", false, true},
           {"FROM read_parquet('a' || 'b')", false, true},
           {"SELECT (SELECT count(*) FROM glob('*'))", false, true},
           {"FROM range(3), s.t", false, false}}) {
    const auto checked = check(sql);
    ASSERT_TRUE(checked) << sql << ": " << checked.error().message;
    EXPECT_EQ(checked->names_manifest, manifest) << sql;
    EXPECT_EQ(checked->names_files, files) << sql;
  }
}

TEST_F(WorkerGateTest, RefusesEverythingElseSayingWhat) {
  struct Case {
    std::string sql;
    std::string message_start;
  };
  for (const auto& [sql, start] : std::vector<Case>{
           {"COPY (SELECT 1) TO '/kb/evil.parquet'", "COPY is not run here: only one statement"},
           {" -- a\n /* b */ attach 'x' AS y", "ATTACH is not run here"},
           {"DETACH y", "DETACH is not run here"},
           {"SET threads = 1", "SET is not run here"},
           {"RESET threads", "RESET is not run here"},
           {"USE memory", "USE is not run here"},
           {"PRAGMA database_list", "PRAGMA is not run here"},
           {"INSTALL httpfs", "INSTALL is not run here"},
           {"LOAD httpfs", "LOAD is not run here"},
           {"CREATE TEMP TABLE t AS SELECT 1", "CREATE is not run here"},
           {"CREATE MACRO m() AS 1", "CREATE is not run here"},
           {"INSERT INTO t VALUES (1)", "INSERT is not run here"},
           {"DELETE FROM t", "DELETE is not run here"},
           {"UPDATE t SET a = 1", "UPDATE is not run here"},
           {"DROP VIEW v", "DROP is not run here"},
           {"CALL enable_logging()", "CALL is not run here"},
           {"EXPLAIN SELECT 1", "EXPLAIN is not run here"},
           {"CHECKPOINT", "CHECKPOINT is not run here"},
           {"BEGIN", "BEGIN is not run here"},
           {"EXPORT DATABASE '/tmp/x'", "EXPORT is not run here"},
           {"PREPARE p AS SELECT 1", "PREPARE is not run here"},
           {"SELECT 1; SELECT 2", "2 statements: send one SELECT at a time"},
           {"SELECT 1; DROP TABLE x", "2 statements: send one SELECT at a time"},
           {"PIVOT s.t ON a USING count(*)",
            "2 statements: send one SELECT at a time (a PIVOT is several unless"},
           // These are SELECTs to DuckDB, and write files or keep state.
           {"SELECT * FROM enable_logging(storage='file')", "the table function enable_logging"},
           {"FROM Enable_Profiling(format='json')", "the table function enable_profiling"},
           {"SELECT (SELECT count(*) FROM checkpoint())", "the table function checkpoint"},
           {"WITH a AS (FROM query('SELECT 1')) FROM a", "the table function query"},
           {"DESCRIBE SELECT * FROM read_duckdb('x')", "the table function read_duckdb"},
           {"FROM arrow_scan(1, 2, 3)", "the table function arrow_scan"}}) {
    const auto checked = check(sql);
    ASSERT_FALSE(checked) << sql;
    EXPECT_EQ(code_name(checked.error().code), code_name(Code::kSqlRefused)) << sql;
    EXPECT_EQ(checked.error().message.substr(0, start.size()), start) << sql;
  }
}

TEST_F(WorkerGateTest, TellsWhatDoesNotParseFromWhatIsRefused) {
  for (const auto& [sql, start] : std::vector<std::pair<std::string, std::string>>{
           {"", "there is no statement: send one SELECT"},
           {" ; -- nothing", "there is no statement: send one SELECT"},
           {"SELEC 1",
            "Parser Error: syntax error at or near \"SELEC\"\n\nLINE 1: SELEC 1\n        ^"},
           {"WITH x AS (DELETE FROM t RETURNING a) FROM x", "Parser Error: A CTE needs a SELECT"},
           {"SELECT 'open", "Parser Error: unterminated quoted string"}}) {
    const auto checked = check(sql);
    ASSERT_FALSE(checked) << sql;
    EXPECT_EQ(code_name(checked.error().code), code_name(Code::kSqlError)) << sql;
    EXPECT_EQ(checked.error().message.substr(0, start.size()), start);
  }
}

TEST_F(WorkerGateTest, DeepAndOddTextEndsInAnAnswer) {
  const std::string deep = std::string(900, '(') + "1" + std::string(900, ')');
  EXPECT_TRUE(check("SELECT " + deep));
  std::string sum = "SELECT 1";
  for (int index = 0; index < 900; ++index) sum += "+1";
  EXPECT_TRUE(check(sum)) << check(sum).error().message;
  std::string nested = "1";
  for (int index = 0; index < 1'100; ++index) nested = "1+(" + nested + ")";
  const auto too_deep = check("SELECT " + nested);
  ASSERT_FALSE(too_deep);
  EXPECT_EQ(code_name(too_deep.error().code), code_name(Code::kSqlError));
  const auto infinite = check("SELECT 1e999");
  ASSERT_FALSE(infinite);
  EXPECT_EQ(code_name(infinite.error().code), code_name(Code::kSqlRefused));
}

}  // namespace
}  // namespace strata::duck
