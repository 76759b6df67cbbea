#include "duck/worker_gate.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
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
    const std::set<std::string> views = {"main.c", "raw_extracted.stream_a", "s.b", "s.t", "s.u",
                                         "s.v"};
    return check_statement({.query = connection_.get(), .bare = connection_.get()},
                           {.kb_folder = "/kb", .sql = sql}, views, 10);
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
           {"FROM knowledgebase.c", {"main.c"}},
           {"WITH a AS (FROM s.t), b AS (FROM a) SELECT (SELECT max(x) FROM s.u) FROM b",
            {"s.t", "s.u"}},
           {"WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 2 FROM r) FROM r", {}},
           {"SELECT * FROM s.t UNION ALL FROM s.v", {"s.t", "s.v"}},
           {"DESCRIBE s.t", {"s.t"}},
           {"SUMMARIZE s.t", {"s.t"}},
           {"SHOW TABLES", {}},
           {"EXPLAIN FROM s.t", {"s.t"}},
           {"PIVOT s.t ON a IN (1, 2) USING count(*)", {"s.t"}},
           {"SELECT * FROM range(3), unnest([1])", {}},
           {"SELECT 'COPY x TO y; DROP TABLE z'", {}}}) {
    const auto checked = check(sql);
    ASSERT_TRUE(checked) << sql << ": " << checked.error().message;
    EXPECT_EQ(checked->tables, tables) << sql;
  }
}

TEST_F(WorkerGateTest, RunsWhatWasCheckedWrittenBackAndCut) {
  for (const auto& [sql, run] : std::vector<std::pair<std::string, std::string>>{
           {"select/**/1;", "SELECT * FROM (SELECT 1) LIMIT 11"},
           {"SELECT 1) LIMIT 1 --", ""},
           {"SELECT 1e3", "SELECT * FROM (SELECT CAST('1e3' AS DOUBLE)) LIMIT 11"},
           {"VALUES (1)", "SELECT * FROM (SELECT * FROM (VALUES (1)) AS valueslist) LIMIT 11"},
           {"FROM s.t -- all", "SELECT * FROM (SELECT * FROM s.t) LIMIT 11"},
           {"describe s.t", "SELECT * FROM (DESCRIBE (SELECT * FROM s.t)) LIMIT 11"},
           {"explain from s.t", "EXPLAIN SELECT * FROM s.t"},
           {"SHOW TABLES FROM s",
            "SELECT * FROM (SELECT name FROM (VALUES ('s.b'), ('s.t'), ('s.u'), ('s.v')) "
            "views(name)) LIMIT 11"},
           {"SHOW TABLES FROM x", "SELECT * FROM (SELECT '' AS name WHERE false) LIMIT 11"}}) {
    const auto checked = check(sql);
    EXPECT_EQ(checked ? checked->sql : std::string(), run) << sql;
  }
}

TEST_F(WorkerGateTest, SeesTheManifestAndWhatRaises) {
  struct Case {
    std::string sql;
    bool manifest;
    bool raises;
  };
  for (const auto& [sql, manifest, raises] : std::vector<Case>{
           {"SELECT 1", false, false},
           {"FROM _strata_manifest", true, false},
           {"FROM main._Strata_Manifest", true, false},
           {"WITH m AS (FROM \"_STRATA_MANIFEST\") SELECT 1 FROM s.t JOIN m ON true", true, false},
           {"SELECT (SELECT count(*) FROM _strata_manifest)", true, false},
           {"DESCRIBE _strata_manifest", true, false},
           {"SELECT '_strata_manifest', _strata_manifest FROM s.t", false, false},
           {"WITH _strata_manifest AS (SELECT 1) FROM _strata_manifest", false, false},
           {"SELECT coalesce(a, Error('no')) FROM s.t", false, true}}) {
    const auto checked = check(sql);
    ASSERT_TRUE(checked) << sql << ": " << checked.error().message;
    EXPECT_EQ(checked->names_manifest, manifest) << sql;
    EXPECT_EQ(checked->raises, raises) << sql;
  }
}

TEST_F(WorkerGateTest, RefusesEverythingElseSayingWhat) {
  const auto is_not_run = [](const char* what) { return std::string(what) + " is not run here"; };
  for (const auto& [sql, start] : std::vector<std::pair<std::string, std::string>>{
           {"COPY (SELECT 1) TO '/kb/evil.parquet'", is_not_run("COPY")},
           {" -- a\n /* b */ attach 'x' AS y", is_not_run("ATTACH")},
           {"CREATE TEMP TABLE t AS SELECT 1", is_not_run("CREATE")},
           {"EXPLAIN ANALYZE SELECT 1", "EXPLAIN ANALYZE is not run here"},
           {"EXPLAIN (FORMAT json) SELECT 1", "EXPLAIN FORMAT is not run here"},
           {"SELECT 1; SELECT 2", "2 statements: send one SELECT at a time"},
           {"SELECT 1; DROP TABLE x", "2 statements: send one SELECT at a time"},
           {"PIVOT s.t ON a USING count(*)",
            "2 statements: send one SELECT at a time (a PIVOT is several unless"},
           {"FROM Enable_Profiling(format='json')", "the table function enable_profiling"},
           {"SELECT * FROM unnest([1]) t, query('SELECT 1')", "the table function query is"},
           {"WITH a AS (FROM query('SELECT 1')) FROM a", "the table function query"},
           {"DESCRIBE SELECT * FROM read_duckdb('x')", "the table function read_duckdb"},
           {"FROM s.t, range(t.n)", "range in FROM takes constants only"},
           {"FROM range(200000000)", "range in FROM makes 100000000 rows at most"},
           {"SELECT current_setting('threads')", "the function current_setting is not run here"},
           {"SELECT s.upper('x')", "the function upper is not run here"},
           {"FROM '/etc/x.csv'", "files are not read by name: only this"},
           {"FROM other.s.t", "other is no database that is read here"},
           {"FROM sqlite_master", "sqlite_master belongs to the engine"},
           {"FROM information_schema.tables", "information_schema.tables belongs to the engine"},
           {"FROM knowledgebase.pg_catalog.pg_class", "pg_catalog.pg_class belongs to the engine"},
           {"SHOW DATABASES", "SHOW databases is not run here"},
           {"FROM (SHOW TABLES)", "SHOW TABLES stands alone"},
           {"FROM s.t AT (VERSION => 1)", "the construct"},
           {"SELECT DEFAULT", "an expression of the kind DEFAULT"}}) {
    const auto checked = check(sql);
    ASSERT_FALSE(checked) << sql;
    EXPECT_EQ(code_name(checked.error().code), code_name(Code::kSqlRefused)) << sql;
    EXPECT_EQ(checked.error().message.substr(0, start.size()), start) << sql;
  }
}

TEST_F(WorkerGateTest, ATableOutOfScopeIsUnknown) {
  for (const auto& [sql, table] : std::vector<std::pair<std::string, std::string>>{
           {"FROM nosuch", "main.nosuch"},
           {"FROM S.NoSuch", "s.nosuch"},
           {"FROM knowledgebase.nosuch", "main.nosuch"},
           {"FROM raw_extracted._strata_manifest", "raw_extracted._strata_manifest"},
           {"WITH a AS (FROM a) FROM a", "main.a"},
           {"WITH a AS (FROM b), b AS (SELECT 1) FROM a", "main.b"},
           {"SELECT (WITH a AS (SELECT 1) FROM a) FROM a", "main.a"},
           {"WITH a AS (SELECT 1) FROM main.a", "main.a"},
           {"WITH RECURSIVE r AS (FROM r UNION ALL FROM r) FROM r", "main.r"}}) {
    const auto checked = check(sql);
    ASSERT_FALSE(checked) << sql;
    EXPECT_EQ(code_name(checked.error().code), code_name(Code::kUnknownTable)) << sql;
    EXPECT_EQ(checked.error().detail, table) << sql;
  }
  EXPECT_EQ(check("SELECT 1\nFROM Nosuch n").error().message,
            "Catalog Error: Table with name Nosuch does not exist!\n\nLINE 2: FROM Nosuch n\n"
            "             ^");
}

TEST_F(WorkerGateTest, TellsWhatDoesNotParseFromWhatIsRefused) {
  for (const auto& [sql, start] : std::vector<std::pair<std::string, std::string>>{
           {"", "there is no statement: send one SELECT"},
           {" ; -- nothing", "there is no statement: send one SELECT"},
           {"SELECT ?", "a parameter (? or $1) has no value here"},
           {"SELECT uper(1)",
            "Catalog Error: Scalar Function with name uper does not exist!\nDid you mean "
            "\"upper\"?"},
           {"EXPLAIN ", "there is no statement: send one SELECT"},
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
