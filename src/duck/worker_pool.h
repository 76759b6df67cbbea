#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "duck/sql.h"
#include "duck/workbench.h"
#include "duck/worker_sandbox.h"

/// SQL runs in worker processes (`strata worker`), started by posix_spawn, kept warm, bound to one
/// kb by their first request, capped in memory and time, killed when they overrun. The server
/// itself never loads a generation and never executes a reader's SQL.
namespace strata::duck {

enum class ResultFormat : std::uint8_t { kJson, kNdjson, kCsv, kParquet, kArrow };

/// Which generation of which kb a request reads. Paths absolute and canonical.
struct Source {
  std::string kb_folder;        // `<root>/kb/<id>`: what the worker may read is below it
  std::string generation_file;  // `<kb_folder>/generations/000017.duckdb`
};

/// A row of `_strata_manifest`. A worker opens no catalog: what the table holds comes with the
/// query.
struct ManifestRow {
  std::string table;
  std::string source;
  std::optional<std::uint64_t> rows;
  std::string state;
};

struct QuerySpec {
  Source source;
  std::string sql;  // untrusted
  ResultFormat format = ResultFormat::kJson;
  std::uint64_t rows_max = 0;
  std::chrono::milliseconds timeout{0};
  std::vector<ManifestRow> manifest{};  // what `_strata_manifest` holds, should the SQL name it
  std::stop_token cancel{};  // nobody wants the answer any more; of no use once query() returned
};

/// In lower case, as DuckDB compares names.
inline constexpr std::string_view kManifestTable = "_strata_manifest";

struct ResultColumn {
  std::string name;
  std::string type;  // DuckDB's name of it
};

/// What is known before the first byte of rows: the result stands whole in the worker by then.
struct QueryHead {
  std::vector<ResultColumn> columns;
  std::uint64_t row_count = 0;
  bool truncated = false;  // there were more than rows_max rows
  /// The tables and views the statement names: `schema.name` in lower case, as DuckDB compares.
  std::vector<std::string> tables;
};

/// One query's answer on its way; holds its worker until it is read to the end or destroyed, which
/// has to be before its pool is.
class RunningQuery {
 public:
  virtual ~RunningQuery() = default;
  virtual const QueryHead& head() const = 0;
  /// The next piece of the rows (JSON: the inside of the `rows` array; NDJSON: lines; CSV: header
  /// line and lines; Parquet: the file; Arrow: the IPC stream). Blocks. Nothing: the answer was
  /// whole. An error: it was cut.
  virtual Result<std::optional<std::string>> next() = 0;
};

struct DdlSpec {
  std::string kb_folder;
  std::string database_file;    // a private copy nobody else opens; created when missing; alone in
                                // its folder, which the worker may write
  std::vector<Sql> statements;  // run in one transaction, then checkpointed; no .wal is left
};

struct View {
  std::string schema;
  std::string name;
  std::string sql;
};

struct WorkerPoolOptions {
  std::string program;  // absolute path of the strata binary; started as `<program> worker`
  std::size_t workers_max = 4;
  std::size_t waiting_max = 64;  // more queries than this waiting for a worker: kBusy
  std::uint64_t memory_bytes = 512ULL * 1024 * 1024;              // DuckDB's own limit
  std::uint64_t address_space_bytes = 2ULL * 1024 * 1024 * 1024;  // RLIMIT_AS, what really holds
  /// Without all of it no reader's SQL is run, unless unsafe_queries says that it is all the same.
  SandboxSupport sandbox = probe_sandbox();
  bool unsafe_queries = false;
};

/// Thread-safe. Calls block; they belong on a pool that may block.
class WorkerPool {
 public:
  virtual ~WorkerPool() = default;

  /// Errors: kSqlError, kSqlRefused (of the statement, or of all for want of a sandbox),
  /// kUnknownTable (a missing view of raw_extracted included: the
  /// caller knows whether it is deferred; `detail` names it as `schema.name` in lower case when it
  /// is known), kOutOfMemory, kTimeout, kBusy (no worker to be had), kCancelled (its worker has
  /// been ended), kNotFound (the generation file is gone: resolve again), kIo (a file of the kb
  /// could not be read). Messages carry no path.
  virtual Result<std::unique_ptr<RunningQuery>> query(const QuerySpec& spec) = 0;
  /// In a worker of its own, which ends afterwards and may write in the folder of `database_file`
  /// only.
  virtual Result<void> run_ddl(const DdlSpec& spec) = 0;
  /// A worker of a job's own, beside the places that queries wait for. kBusy: none could be
  /// started.
  virtual Result<std::unique_ptr<Workbench>> open_workbench(const WorkbenchSpec& spec) = 0;
  /// The views a generation holds.
  virtual Result<std::vector<View>> views(const Source& source) = 0;

  /// Ends the workers bound to `kb_folder`, idle ones now, those at work once their answer ended:
  /// for a kb that was moved aside, because the next of its name has generations of the same names.
  virtual void forget(const std::string& kb_folder) = 0;

  /// Ends every worker now: what runs answers kBusy, and so does every later call. For a server
  /// that stops and has waited for its queries long enough. Any thread. Idempotent.
  virtual void stop() = 0;

  /// For strata_worker_deaths_total{reason}: `timeout`, `out_of_memory`, `killed`, `crashed`,
  /// `spawn_failed`.
  virtual std::map<std::string, std::uint64_t> deaths() const = 0;
};

std::unique_ptr<WorkerPool> make_worker_pool(const WorkerPoolOptions& options);

/// What `strata worker` runs: serves requests on descriptor 3 until it closes. Returns the exit
/// code.
int worker_main();

}  // namespace strata::duck
