#include "duck/worker_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "duck/handles.h"
#include "duck/testing/children.h"
#include "duck/worker_connection.h"
#include "duck/worker_limits.h"

namespace strata::duck {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns when the process has burnt some more CPU: then it is at the work it was given.
void wait_until_at_work(pid_t process) {
  const auto ticks = [process] {
    const std::string stat = read_file(fs::path("/proc") / std::to_string(process) / "stat");
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    std::string skipped;
    for (int field = 3; field < 14; ++field) fields >> skipped;
    long user = 0;
    fields >> user;
    return user;
  };
  const long begin = ticks();
  while (ticks() < begin + 5) std::this_thread::sleep_for(milliseconds(5));
}

constexpr const char* kEndlessSql =
    "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3";

/// Every file and folder below, with sizes.
std::set<std::string> listing(const fs::path& folder) {
  std::set<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    found.insert(entry.path().string() + ' ' +
                 (entry.is_regular_file() ? std::to_string(entry.file_size()) : "-"));
  }
  return found;
}

class WorkerPoolTest : public testing::Test {
 protected:
  WorkerPoolTest() {
    std::string name = (fs::temp_directory_path() / "strata-worker-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    EXPECT_EQ(duckdb_open(":memory:", outside_.out()), DuckDBSuccess);
    EXPECT_EQ(duckdb_connect(outside_.get(), connection_.out()), DuckDBSuccess);
    options_.program = STRATA_WORKER_STUB;
    options_.workers_max = 2;
  }
  ~WorkerPoolTest() override {
    pool_.reset();
    EXPECT_EQ(children(), std::set<pid_t>());
    fs::remove_all(root_);
  }

  WorkerPool& pool() {
    if (!pool_) pool_ = make_worker_pool(options_);
    return *pool_;
  }

  fs::path kb(const std::string& id) const { return root_ / "kb" / id; }
  fs::path data(const std::string& id) const { return kb(id) / "strata/streams/weather/data"; }
  Source source(const std::string& id, const std::string& generation = "000001.duckdb") const {
    return {.kb_folder = kb(id), .generation_file = kb(id) / "generations" / generation};
  }

  void write_parquet(const fs::path& file, const std::string& select) {
    const std::string sql = "COPY (" + select + ") TO '" + file.string() + "' (FORMAT PARQUET)";
    QueryResult result;
    ASSERT_EQ(duckdb_query(connection_.get(), sql.c_str(), result.get()), DuckDBSuccess)
        << result.error();
  }

  DdlSpec weather_ddl(const std::string& id, const fs::path& database_file) const {
    Sql view(
        "CREATE OR REPLACE VIEW raw_extracted.stream_weather AS "
        "SELECT * EXCLUDE (filename, _batch_id), filename, _batch_id FROM read_parquet(");
    view.glob(data(id).string(), "/**/*.parquet")
        .raw(", union_by_name=true, filename=true, hive_partitioning=false)");
    return {.kb_folder = kb(id),
            .database_file = database_file,
            .statements = {Sql("CREATE SCHEMA IF NOT EXISTS raw_extracted"), view}};
  }

  /// A kb with stream `weather`: 10 rows of text cells, `day` d0..d9, `temp` 0.5..9.5.
  void make_kb(const std::string& id) {
    fs::create_directories(data(id));
    fs::create_directories(kb(id) / "generations");
    write_parquet(data(id) / "b1.parquet",
                  "SELECT 'd' || i AS day, (i + 0.5)::VARCHAR AS temp, 'b1' AS _batch_id "
                  "FROM range(10) t(i)");
    const auto done = pool().run_ddl(weather_ddl(id, source(id).generation_file));
    ASSERT_TRUE(done) << done.error().message << done.error().detail;
  }

  QuerySpec spec(const std::string& id, const std::string& sql) const {
    return {.source = source(id),
            .sql = sql,
            .format = ResultFormat::kJson,
            .rows_max = limits::kQueryRowsDefault,
            .timeout = limits::kQueryTimeoutDefault};
  }

  static Result<std::string> read_all(RunningQuery& running) {
    std::string whole;
    for (;;) {
      STRATA_ASSIGN_OR_RETURN(const auto piece, running.next());
      if (!piece) return whole;
      whole += *piece;
    }
  }

  Result<std::string> answer(const QuerySpec& query) {
    STRATA_ASSIGN_OR_RETURN(const auto running, pool().query(query));
    return read_all(*running);
  }
  /// The rows, or the error's code and message: one text to compare.
  std::string text(const QuerySpec& query) {
    const auto rows = answer(query);
    return rows ? *rows : std::string(code_name(rows.error().code)) + ": " + rows.error().message;
  }
  std::string text(const std::string& sql) { return text(spec("demo", sql)); }
  std::string code(const QuerySpec& query) {
    const auto rows = answer(query);
    return rows ? "rows " + *rows : std::string(code_name(rows.error().code));
  }
  std::string code(const std::string& sql) { return code(spec("demo", sql)); }
  std::string code(const std::string& sql, milliseconds timeout) {
    QuerySpec query = spec("demo", sql);
    query.timeout = timeout;
    return code(query);
  }

  fs::path root_;
  Database outside_;
  Connection connection_;
  WorkerPoolOptions options_;
  std::unique_ptr<WorkerPool> pool_;
};

TEST_F(WorkerPoolTest, AnswersInEveryFormat) {
  make_kb("demo");
  QuerySpec query = spec("demo",
                         "SELECT day, TRY_CAST(temp AS DOUBLE) AS temp, _batch_id "
                         "FROM raw_extracted.stream_weather ORDER BY day LIMIT 2");
  const auto running = pool().query(query);
  ASSERT_TRUE(running) << running.error().message;
  const QueryHead& head = (*running)->head();
  ASSERT_EQ(head.columns.size(), 3U);
  EXPECT_EQ(head.columns[1].name, "temp");
  EXPECT_EQ(head.columns[1].type, "DOUBLE");
  EXPECT_EQ(head.columns[2].type, "VARCHAR");
  EXPECT_EQ(head.row_count, 2U);
  EXPECT_FALSE(head.truncated);
  EXPECT_EQ(head.tables, std::vector<std::string>{"raw_extracted.stream_weather"});
  EXPECT_EQ(read_all(**running).value(), "[\"d0\",0.5,\"b1\"],[\"d1\",1.5,\"b1\"]");
  EXPECT_EQ((*running)->next().value(), std::nullopt);  // and stays at its end

  query.format = ResultFormat::kNdjson;
  EXPECT_EQ(text(query),
            "{\"day\":\"d0\",\"temp\":0.5,\"_batch_id\":\"b1\"}\n"
            "{\"day\":\"d1\",\"temp\":1.5,\"_batch_id\":\"b1\"}\n");
  query.format = ResultFormat::kCsv;
  EXPECT_EQ(text(query), "day,temp,_batch_id\r\nd0,0.5,b1\r\nd1,1.5,b1\r\n");
  EXPECT_EQ(text("SELECT filename FROM raw_extracted.stream_weather LIMIT 1"),
            "[\"" + data("demo").string() + "/b1.parquet\"]");
  EXPECT_EQ(text("SELECT '2026-01-01 00:00:00+00'::TIMESTAMPTZ::VARCHAR"),
            "[\"2026-01-01 00:00:00+00\"]");
  EXPECT_EQ(text("SELECT count(*) FROM knowledgebase.raw_extracted.stream_weather"), "[10]");
  EXPECT_EQ(text("SELECT column_name FROM (DESCRIBE raw_extracted.stream_weather)"),
            "[\"day\"],[\"temp\"],[\"filename\"],[\"_batch_id\"]");
}

TEST_F(WorkerPoolTest, CapsRowsAndSaysSo) {
  make_kb("demo");
  struct Case {
    std::string sql;
    std::uint64_t rows_max;
    std::string rows;
    bool truncated;
  };
  for (const auto& [sql, rows_max, rows, truncated] :
       std::vector<Case>{{"SELECT i FROM range(5) t(i) ORDER BY i DESC", 3, "[4],[3],[2]", true},
                         {"SELECT i FROM range(3) t(i)", 3, "[0],[1],[2]", false},
                         {"SELECT i FROM range(3) t(i);  -- done", 4, "[0],[1],[2]", false},
                         {"SELECT 1 AS a, 2 AS a", 1, "[1,2]", false},
                         {"SELECT 1 WHERE false", 1, "", false},
                         {"SELECT 1", 0, "", true},
                         // Two chunks' worth, cut at the border between them.
                         {"SELECT 7 FROM range(100000000)", 2, "[7],[7]", true}}) {
    QuerySpec query = spec("demo", sql);
    query.rows_max = rows_max;
    const auto running = pool().query(query);
    ASSERT_TRUE(running) << sql << running.error().message;
    EXPECT_EQ((*running)->head().truncated, truncated) << sql;
    EXPECT_EQ(read_all(**running).value(), rows) << sql;
  }
  for (const std::uint64_t rows_max : {2047, 2048, 2049, 4096}) {
    QuerySpec query = spec("demo", "SELECT i FROM range(4096) t(i)");
    query.rows_max = rows_max;
    const auto running = pool().query(query);
    ASSERT_TRUE(running);
    EXPECT_EQ((*running)->head().row_count, rows_max);
    EXPECT_EQ((*running)->head().truncated, rows_max != 4096);
  }
}

TEST_F(WorkerPoolTest, AnswersLargerThanAFrameArriveWhole) {
  make_kb("demo");
  QuerySpec query =
      spec("demo", "SELECT repeat(chr(97 + (i % 26)::INT), 300) FROM range(5000) t(i)");
  std::string expected;
  for (int row = 0; row < 5'000; ++row) {
    expected +=
        (row == 0 ? "[\"" : ",[\"") + std::string(300, static_cast<char>('a' + row % 26)) + "\"]";
  }
  EXPECT_TRUE(text(query) == expected);
  // One value larger than a frame may be.
  EXPECT_EQ(text("SELECT repeat('x', 5000000)").size(), 5'000'004U);
}

TEST_F(WorkerPoolTest, SaysWhatIsWrongWithTheSql) {
  make_kb("demo");
  struct Case {
    std::string sql;
    std::string start;
    std::string end;
  };
  const std::string hint = "cells of raw streams are text: TRY_CAST(x AS DOUBLE)";
  for (const auto& [sql, start, end] : std::vector<Case>{
           {"SELEC 1", "SqlError: Parser Error: syntax error at or near \"SELEC\"",
            "LINE 1: SELEC 1\n        ^"},
           {"", "SqlError: there is no statement", ""},
           {"SELECT nosuch FROM raw_extracted.stream_weather",
            "SqlError: Binder Error: Referenced column \"nosuch\" not found", "^"},
           {"SELECT * FROM raw_extracted.stream_weather WHERE temp > 5",
            "SqlError: Binder Error: Cannot compare values", "^\n" + hint},
           {"SELECT sum(temp) FROM raw_extracted.stream_weather", "SqlError: Binder Error: No",
            "^\n" + hint},
           {"SELECT day::DOUBLE FROM raw_extracted.stream_weather",
            "SqlError: Conversion Error: Could not convert string 'd0' to DOUBLE", hint},
           {"SELECT 1 + ?", "SqlError: a parameter", ""},
           {"SELECT 1::VARIANT AS v", "SqlError: column \"v\": a value of this type", ""},
           {"SELECT error('at /etc/x')", "SqlError: Invalid Input Error: at <path>", ""},
           {"SELECT * FROM raw_extracted.stream_nosuch",
            "UnknownTable: Catalog Error: Table with name stream_nosuch does not exist!", "^"},
           {"SELECT 'a\xFF'", "SqlError: Invalid Input Error: Invalid unicode", ""}}) {
    const std::string answer = text(sql);
    EXPECT_EQ(answer.substr(0, start.size()), start) << answer;
    EXPECT_TRUE(answer.ends_with(end)) << answer;
    EXPECT_EQ(answer.find(root_.string()), std::string::npos) << answer;
  }
  const auto missing = pool().query(spec("demo", "FROM Raw_Extracted.Stream_NoSuch"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().detail, "raw_extracted.stream_nosuch");

  EXPECT_EQ(code(std::string("SELECT 1\0; COPY", 14)), "BadRequest");
  EXPECT_EQ(code("SELECT '" + std::string(limits::kSqlBytesMax, 'x') + "'"), "BadRequest");
  EXPECT_EQ(text("SELECT 1"), "[1]");
  EXPECT_EQ(living_children().size(), 1U);  // all of that in one worker
}

TEST_F(WorkerPoolTest, ReadsOnlyItsOwnKnowledgebaseAndWritesNothing) {
  make_kb("demo");
  make_kb("other");
  fs::create_symlink(root_ / "kb/other/strata", kb("demo") / "strata/streams/leak");
  const std::string streams = kb("demo") / "strata/streams";
  const std::string others = data("other") / "b1.parquet";
  const std::set<std::string> before = listing(root_);
  for (const std::string& sql : std::vector<std::string>{
           "COPY (SELECT 1) TO '" + streams + "/weather/data/evil.parquet'",
           "ATTACH '" + kb("demo").string() + "/generations/evil.duckdb' AS e", "SET threads = 1",
           "PRAGMA enable_profiling", "INSTALL httpfs",
           "SELECT 1; COPY (SELECT 1) TO '" + streams + "/evil.csv'",
           "CREATE TABLE memory.main.t AS SELECT 1", "EXPORT DATABASE '" + streams + "'",
           "SELECT * FROM enable_logging(storage='file', storage_config={'path': '" + streams +
               "/evil'})",
           "SELECT * FROM enable_profiling(save_location='" + streams + "/evil.json')",
           "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM read_text('/etc/passwd')",
           "SELECT * FROM '/etc/passwd.csv'", "SELECT * FROM glob('/etc/*')",
           "SELECT * FROM read_parquet('" + others + "')", "SELECT * FROM '" + others + "'",
           "SELECT * FROM read_text('" + streams +
               "/../../../other/strata/streams/weather/data/b1.parquet')",
           "SELECT * FROM read_parquet('" + streams + "/leak/streams/weather/data/b1.parquet')"}) {
    EXPECT_EQ(code(sql), "SqlRefused") << sql;
  }
  EXPECT_EQ(listing(root_), before);
  EXPECT_EQ(text("SELECT count(*) FROM raw_extracted.stream_weather"), "[10]");
}

TEST_F(WorkerPoolTest, AWorkerHasOnlyWhatItNeeds) {
  const fs::path secret = root_ / "secret";
  std::ofstream(secret) << "x";
  // Without close-on-exec, on purpose.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> held(std::fopen(secret.c_str(), "r"),
                                                             std::fclose);
  ::setenv("STRATA_TEST_SECRET", "1", 1);
  make_kb("demo");
  ASSERT_EQ(text("SELECT 1"), "[1]");
  ::unsetenv("STRATA_TEST_SECRET");
  ASSERT_EQ(living_children().size(), 1U);
  const fs::path proc = fs::path("/proc") / std::to_string(*living_children().begin());

  EXPECT_EQ(read_file(proc / "environ").find("STRATA_TEST_SECRET"), std::string::npos);
  for (const auto& entry : fs::directory_iterator(proc / "fd")) {
    EXPECT_NE(fs::read_symlink(entry.path()), secret);
  }
  EXPECT_EQ(fs::read_symlink(proc / "fd/0"), "/dev/null");
  EXPECT_EQ(fs::read_symlink(proc / "fd/1"), fs::read_symlink("/proc/self/fd/2"));
  EXPECT_EQ(fs::read_symlink(proc / "cwd"), "/");
  const pid_t worker = *living_children().begin();
  EXPECT_EQ(::getpgid(worker), worker);
  EXPECT_EQ(::getsid(worker), worker);
  EXPECT_NE(read_file(proc / "status").find("SigBlk:\t0000000000000000\n"), std::string::npos);
  EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(worker)), 19);
  // Having run a statement it gives its turns away by this signal; see base/scheduling.h.
  EXPECT_TRUE(has_status_bit(worker, "SigCgt", SIGALRM - 1));
  if (fs::exists(proc / "autogroup")) {
    EXPECT_NE(read_file(proc / "autogroup").find(" nice 19"), std::string::npos);
  }
  if (!limits_address_space()) return;
  const std::string limits = read_file(proc / "limits");
  EXPECT_NE(limits.find("Max file size             0 "), std::string::npos) << limits;
  EXPECT_NE(limits.find("Max core file size        0 "), std::string::npos) << limits;
  EXPECT_NE(limits.find("Max address space         2147483648 "), std::string::npos) << limits;
}

TEST_F(WorkerPoolTest, NoZombieStaysWhileThePoolLives) {
  make_kb("demo");
  ASSERT_EQ(text("SELECT 1"), "[1]");
  ASSERT_EQ(::kill(*living_children().begin(), SIGKILL), 0);
  ASSERT_EQ(text("SELECT 1"), "[1]");  // by another, which found out
  while (children().size() > 1) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(children(), living_children());
}

TEST_F(WorkerPoolTest, AQueryOverItsTimeIsStoppedAndTheNextIsFine) {
  make_kb("demo");
  ASSERT_EQ(text("SELECT 1"), "[1]");
  const std::set<pid_t> first = living_children();
  // The interrupt stops this one.
  QuerySpec endless = spec("demo", kEndlessSql);
  endless.timeout = milliseconds(200);
  EXPECT_EQ(text(endless),
            "Timeout: the query ran longer than 200 ms: ask for less, or raise timeout_ms (up to "
            "60000)");
  EXPECT_EQ(living_children(), std::set<pid_t>());
  EXPECT_EQ(text("SELECT 2"), "[2]");
  EXPECT_NE(living_children(), first);
  EXPECT_EQ(pool().deaths().at("timeout"), 1U);
  // Nothing but the kill stops this one: one call of a function that takes many seconds.
  EXPECT_EQ(code("SELECT length(lpad('x', 1500000000, 'y'))", milliseconds(200)), "Timeout");
  EXPECT_EQ(living_children(), std::set<pid_t>());
  EXPECT_EQ(text("SELECT 3"), "[3]");
  EXPECT_EQ(pool().deaths().at("timeout"), 2U);
  EXPECT_EQ(pool().deaths().at("killed"), 0U);
}

TEST_F(WorkerPoolTest, AQueryOverItsMemoryIsStoppedAndTheNextIsFine) {
  options_.memory_bytes = 64ULL * 1024 * 1024;
  options_.address_space_bytes = 512ULL * 1024 * 1024;
  make_kb("demo");
  std::vector<std::string> statements = {
      "SELECT count(*) FROM (SELECT i FROM range(20000000) t(i) ORDER BY hash(i)) WHERE i > 3",
      "SELECT repeat('x', 10000) FROM range(10000)"};  // the answer itself
  // DuckDB's own limit does not hold for these; the address space's does.
  if (limits_address_space()) {
    statements.emplace_back("SELECT len(range(1000000000))");
    statements.emplace_back(
        "SELECT length(repeat(repeat('x', 1000000), i::INT)) FROM range(1, 800) t(i)");
  }
  for (const std::string& sql : statements) {
    const std::string answer = text(sql);
    EXPECT_EQ(answer.substr(0, 73),
              "OutOfMemory: the query needs more memory than it may have (64 MiB): filte")
        << sql;
    EXPECT_EQ(text("SELECT 1"), "[1]");
  }
  EXPECT_EQ(pool().deaths().at("out_of_memory"), statements.size());
}

TEST_F(WorkerPoolTest, AWorkerKilledAtWorkCostsItsQueryOnly) {
  make_kb("demo");
  ASSERT_EQ(text("SELECT 1"), "[1]");
  const pid_t worker = *living_children().begin();
  auto waiting = std::async(std::launch::async, [this] { return text(kEndlessSql); });
  wait_until_at_work(worker);
  ASSERT_EQ(::kill(worker, SIGKILL), 0);
  EXPECT_EQ(waiting.get(), "Busy: the worker ended while it ran the query: send it again");
  EXPECT_EQ(text("SELECT 2"), "[2]");
  EXPECT_EQ(pool().deaths().at("killed"), 1U);
}

TEST_F(WorkerPoolTest, AWorkerThatCrashesBlamesTheStatement) {
  make_kb("demo");
  ASSERT_EQ(text("SELECT 1"), "[1]");
  const pid_t worker = *living_children().begin();
  auto waiting = std::async(std::launch::async, [this] { return text(kEndlessSql); });
  wait_until_at_work(worker);
  ASSERT_EQ(::kill(worker, SIGILL), 0);
  EXPECT_EQ(waiting.get(),
            "SqlError: the query engine failed on this statement: write it another way");
  EXPECT_EQ(pool().deaths().at("crashed"), 1U);
}

TEST_F(WorkerPoolTest, ACancelledQueryEndsItsWorkerAndFreesItsPlace) {
  options_.workers_max = 1;
  make_kb("demo");
  ASSERT_EQ(text("SELECT 1"), "[1]");
  const pid_t worker = *living_children().begin();
  std::stop_source running_left;
  std::stop_source waiting_left;
  const auto ask = [this](const std::stop_source& left) {
    QuerySpec query = spec("demo", kEndlessSql);
    query.timeout = limits::kQueryTimeoutCeiling;
    query.cancel = left.get_token();
    return std::async(std::launch::async, [this, query] { return code(query); });
  };
  auto running = ask(running_left);
  wait_until_at_work(worker);
  auto waiting = ask(waiting_left);
  waiting_left.request_stop();
  EXPECT_EQ(waiting.get(), "Cancelled");
  EXPECT_TRUE(living_children().contains(worker));
  running_left.request_stop();
  EXPECT_EQ(running.get(), "Cancelled");
  EXPECT_FALSE(living_children().contains(worker));
  EXPECT_EQ(text("SELECT 2"), "[2]");
  // It was our own doing: no death to count.
  for (const auto& [reason, count] : pool().deaths()) EXPECT_EQ(count, 0U) << reason;
  // One that was cancelled before it began.
  EXPECT_EQ(ask(running_left).get(), "Cancelled");
}

TEST_F(WorkerPoolTest, AnIdleWorkerFoundDeadIsReplacedUnnoticed) {
  make_kb("demo");
  ASSERT_EQ(text("SELECT 1"), "[1]");
  const pid_t worker = *living_children().begin();
  ASSERT_EQ(::kill(worker, SIGKILL), 0);
  EXPECT_EQ(text("SELECT 2"), "[2]");
  EXPECT_FALSE(living_children().contains(worker));
  EXPECT_EQ(pool().deaths().at("killed"), 1U);
  // One that was stopped is as good as dead.
  ASSERT_EQ(::kill(*living_children().begin(), SIGSTOP), 0);
  EXPECT_EQ(text("SELECT 3"), "[3]");
  EXPECT_EQ(pool().deaths().at("killed"), 2U);
}

TEST_F(WorkerPoolTest, WithoutAWorkerToBeHadAQueryIsBusyAtOnce) {
  const fs::path chatter = root_ / "chatter";
  std::ofstream(chatter) << "#!/bin/sh\nprintf 'hello, this is no frame' >&3\n";
  fs::permissions(chatter, fs::perms::owner_all);
  for (const std::string& program :
       {root_.string() + "/nosuch", std::string("/bin/true"), chatter.string()}) {
    options_.program = program;
    pool_.reset();
    EXPECT_EQ(text("SELECT 1"), "Busy: no query worker could be started: send it again in a moment")
        << program;
    EXPECT_EQ(code("SELECT 1"), "Busy") << program;
    EXPECT_EQ(pool().deaths().at("spawn_failed"), 2U) << program;
    const auto ddl =
        pool().run_ddl({.kb_folder = kb("demo"), .database_file = "", .statements = {}});
    ASSERT_FALSE(ddl);
    EXPECT_EQ(ddl.error().code, Code::kBusy);
  }
}

TEST_F(WorkerPoolTest, WorkersStayWithTheirKnowledgebase) {
  options_.workers_max = 2;
  for (const char* id : {"one", "two", "three"}) make_kb(id);
  EXPECT_EQ(text(spec("one", "SELECT 1")), "[1]");
  const std::set<pid_t> first = living_children();
  // A thread that started a worker may end; the worker stays.
  std::thread([this] { EXPECT_EQ(text(spec("two", "SELECT 2")), "[2]"); }).join();
  const std::set<pid_t> both = living_children();
  EXPECT_EQ(both.size(), 2U);
  EXPECT_EQ(text(spec("one", "SELECT 1")), "[1]");
  EXPECT_EQ(text(spec("two", "SELECT 2")), "[2]");
  EXPECT_EQ(text(spec("one", "SELECT 1")), "[1]");
  EXPECT_EQ(living_children(), both);
  // The one that was idle longest makes room.
  EXPECT_EQ(text(spec("three", "SELECT 3")), "[3]");
  EXPECT_EQ(living_children().size(), 2U);
  EXPECT_TRUE(living_children().contains(*first.begin()));
}

TEST_F(WorkerPoolTest, WaitingForAWorkerIsBoundedInNumberAndTime) {
  options_.workers_max = 1;
  options_.waiting_max = 1;
  make_kb("demo");
  auto held = pool().query(spec("demo", "SELECT 1"));
  ASSERT_TRUE(held);
  const std::string full = "Busy: 1 queries are waiting already: send it again in a moment";
  QuerySpec patient = spec("demo", "SELECT 2");
  auto waiting = std::async(std::launch::async, [this, &patient, &full] {
    std::string answer = full;
    while (answer == full) answer = text(patient);
    return answer;
  });
  // Until that one waits, this one does, and gives up; then there is no room for it.
  QuerySpec hasty = spec("demo", "SELECT 3");
  hasty.timeout = milliseconds(10);
  std::string answer;
  do {
    answer = text(hasty);
  } while (answer == "Busy: no worker became free within the query's 10 ms: send it again");
  EXPECT_EQ(answer, full);
  EXPECT_EQ(read_all(**held).value(), "[1]");
  EXPECT_EQ(waiting.get(), "[2]");
  hasty.timeout = limits::kQueryTimeoutDefault;
  EXPECT_EQ(text(hasty), "[3]");
}

TEST_F(WorkerPoolTest, AnAnswerGivenUpLeavesThePoolWhole) {
  options_.workers_max = 1;
  make_kb("demo");
  {
    EXPECT_TRUE(pool().query(spec("demo", "SELECT i FROM range(100) t(i)")));
  }
  const std::set<pid_t> first = living_children();
  EXPECT_EQ(first.size(), 1U);
  EXPECT_EQ(text("SELECT 1"), "[1]");
  EXPECT_EQ(living_children(), first);  // a short rest is read
  {
    const auto large = pool().query(spec("demo", "SELECT repeat('x', 10000000)"));
    ASSERT_TRUE(large);
    EXPECT_TRUE((*large)->next());
  }
  EXPECT_EQ(living_children(), std::set<pid_t>());  // a long one is not
  EXPECT_EQ(text("SELECT 2"), "[2]");
  for (const auto& [reason, count] : pool().deaths()) EXPECT_EQ(count, 0U) << reason;
}

TEST_F(WorkerPoolTest, AnAnswerCutShortIsAnErrorNotAnEnd) {
  make_kb("demo");
  const auto running = pool().query(spec("demo", "SELECT repeat('x', 10000000)"));
  ASSERT_TRUE(running);
  ASSERT_TRUE((*running)->next());
  ASSERT_EQ(::kill(*living_children().begin(), SIGKILL), 0);
  const auto rest = read_all(**running);
  ASSERT_FALSE(rest);
  EXPECT_EQ(code_name(rest.error().code), "Busy");
  EXPECT_FALSE((*running)->next());  // and stays one
}

TEST_F(WorkerPoolTest, FollowsTheGenerations) {
  make_kb("demo");
  EXPECT_EQ(code("SELECT * FROM raw_extracted.later"), "UnknownTable");
  const std::set<pid_t> worker = living_children();
  const Source second = source("demo", "000002.duckdb");
  fs::copy_file(source("demo").generation_file, second.generation_file);
  const auto done = pool().run_ddl({.kb_folder = kb("demo"),
                                    .database_file = second.generation_file,
                                    .statements = {Sql("CREATE VIEW raw_extracted.later AS FROM "
                                                       "raw_extracted.stream_weather")}});
  ASSERT_TRUE(done) << done.error().detail;
  fs::permissions(second.generation_file, fs::perms(0444));
  QuerySpec query = spec("demo", "SELECT count(*) FROM raw_extracted.later");
  query.source = second;
  EXPECT_EQ(text(query), "[10]");
  EXPECT_EQ(code("SELECT * FROM raw_extracted.later"), "UnknownTable");  // the first one again
  EXPECT_EQ(text(query), "[10]");

  query.source = source("demo", "000003.duckdb");
  EXPECT_EQ(code(query), "NotFound");
  std::ofstream(source("demo", "000004.duckdb").generation_file).flush();  // a tombstone
  query.source = source("demo", "000004.duckdb");
  EXPECT_EQ(code(query), "NotFound");
  std::ofstream(source("demo", "000005.duckdb").generation_file) << "not a database";
  query.source = source("demo", "000005.duckdb");
  EXPECT_EQ(code(query), "Io");
  query.source = second;
  EXPECT_EQ(text(query), "[10]");
  EXPECT_EQ(living_children(), worker);  // one worker for all of them

  const auto views = pool().views(second);
  ASSERT_TRUE(views);
  ASSERT_EQ(views->size(), 2U);
  EXPECT_EQ((*views)[0].schema, "raw_extracted");
  EXPECT_EQ((*views)[0].name, "later");
  EXPECT_EQ((*views)[1].name, "stream_weather");
  EXPECT_NE((*views)[1].sql.find(data("demo").string() + "/**/*.parquet"), std::string::npos);
  const auto missing = pool().views(source("demo", "000003.duckdb"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
}

TEST_F(WorkerPoolTest, NewFilesAndNewColumnsAreSeenAtOnce) {
  make_kb("demo");
  EXPECT_EQ(text("SELECT count(*) FROM raw_extracted.stream_weather"), "[10]");
  write_parquet(data("demo") / "a0.parquet", "SELECT 'd10' AS day, 'w' AS wind, 'a0' AS _batch_id");
  EXPECT_EQ(text("SELECT day, wind FROM raw_extracted.stream_weather WHERE day IN ('d0', 'd10') "
                 "ORDER BY day"),
            "[\"d0\",null],[\"d10\",\"w\"]");
}

TEST_F(WorkerPoolTest, FilesThatCannotBeReadAreOurFault) {
  make_kb("demo");
  std::ofstream(data("demo") / "b2.parquet") << "nothing like Parquet, whatever the name says";
  const auto broken = answer(spec("demo", "SELECT * FROM raw_extracted.stream_weather"));
  ASSERT_FALSE(broken);
  EXPECT_EQ(code_name(broken.error().code), "Io");
  EXPECT_NE(broken.error().detail.find("b2.parquet"), std::string::npos);
  // The stream's file is named, and not where it lies.
  EXPECT_EQ(broken.error().message.find("data/b2.parquet of the stream weather"), 0U);
  EXPECT_EQ(broken.error().message.find(root_.string()), std::string::npos);
  fs::remove_all(data("demo"));
  EXPECT_EQ(code("SELECT * FROM raw_extracted.stream_weather"), "Io");
}

TEST_F(WorkerPoolTest, DdlWritesItsFileWholeAndNothingElse) {
  make_kb("demo");
  fs::create_directories(kb("demo") / "staging");
  const fs::path file = kb("demo") / "staging/new.duckdb";
  const auto fails = [&](const Sql& statement) {
    const auto done =
        pool().run_ddl({.kb_folder = kb("demo"), .database_file = file, .statements = {statement}});
    return done ? "done" : std::string(code_name(done.error().code));
  };
  EXPECT_EQ(fails(Sql("COPY (SELECT 1) TO ").literal((root_ / "evil.csv").string())), "Internal");
  EXPECT_FALSE(fs::exists(root_ / "evil.csv"));
  EXPECT_EQ(fails(Sql("CREATE VIEW v AS FROM nosuch")), "Internal");
  EXPECT_EQ(fails(Sql("CREATE VIEW v AS FROM read_parquet(")
                      .glob((kb("demo") / "strata/streams/none").string(), "/*.parquet")
                      .raw(")")),
            "Io");
  fs::remove(file);

  ASSERT_TRUE(pool().run_ddl(weather_ddl("demo", file)));
  EXPECT_TRUE(fs::exists(file));
  EXPECT_FALSE(fs::exists(file.string() + ".wal"));
  ASSERT_TRUE(pool().run_ddl(weather_ddl("demo", file)));  // again, on what is there
  EXPECT_FALSE(fs::exists(file.string() + ".wal"));
  EXPECT_EQ(living_children(), std::set<pid_t>());  // its worker ended
  EXPECT_EQ(pool().deaths().at("crashed"), 0U);

  // What an outside client sees.
  Database database;
  Connection connection;
  ASSERT_EQ(duckdb_open(file.c_str(), database.out()), DuckDBSuccess);
  ASSERT_EQ(duckdb_connect(database.get(), connection.out()), DuckDBSuccess);
  const auto rows =
      run_for_text(connection.get(), Sql("SELECT max(day) FROM raw_extracted.stream_weather"), 1);
  ASSERT_TRUE(rows) << rows.error().detail;
  EXPECT_EQ((*rows)[0][0], "d9");
}

TEST_F(WorkerPoolTest, ManyAtOnceAllGetTheirOwnAnswer) {
  make_kb("one");
  make_kb("two");
  std::vector<std::future<std::string>> answers;
  for (int index = 0; index < 8; ++index) {
    answers.push_back(std::async(std::launch::async, [this, index] {
      return text(spec(index % 2 == 0 ? "one" : "two", "SELECT " + std::to_string(index)));
    }));
  }
  for (int index = 0; index < 8; ++index) {
    EXPECT_EQ(answers[static_cast<std::size_t>(index)].get(), "[" + std::to_string(index) + "]");
  }
  EXPECT_LE(living_children().size(), 2U);
}

}  // namespace
}  // namespace strata::duck
