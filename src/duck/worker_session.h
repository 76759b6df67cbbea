#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "duck/answer_file.h"
#include "duck/answer_writer.h"
#include "duck/handles.h"
#include "duck/parquet_answer.h"
#include "duck/render.h"
#include "duck/render_type.h"
#include "duck/row_source.h"
#include "duck/worker_connection.h"
#include "duck/worker_error.h"
#include "duck/worker_pool.h"
#include "duck/worker_watch.h"
#include "duck/worker_wire.h"

namespace strata::duck {

/// A query's answer, whole: what it is, and its rows as bytes.
struct QueryAnswer {
  QueryHead head;
  std::deque<std::string> pieces;
  std::uint64_t file_bytes = 0;  // behind the pieces: so much of the session's answer file
};

/// What DDL and a workbench may read of a kb, and what a query may, each with a `/` at its end.
std::vector<std::string> table_folders(const std::string& kb_folder);
std::vector<std::string> readable_folders(const std::string& kb_folder);

/// One `:memory:` host instance in a worker process. It is bound to one kb by its first request
/// and locked down to that kb's folders before any SQL of a reader runs; generations come and go
/// in it, each attached READ_ONLY under kCatalogName. One thread.
class WorkerSession {
 public:
  /// kInternal: the engine could not be opened within the limits.
  static Result<std::unique_ptr<WorkerSession>> open(std::uint64_t memory_bytes,
                                                     AnswerFile answer_file);

  /// One SELECT. The errors of WorkerPool::query. An answer that is in the answer file stays there
  /// until the next.
  Result<QueryAnswer> query(const QueryRequest& request, QueryWatch& watch);
  Result<std::vector<View>> views(const Source& source);
  /// Leaves `database_file` checkpointed and closed, without a .wal. Only for a session that has
  /// done nothing else.
  Result<void> run_ddl(const DdlRequest& request);

  AnswerFile& answer_file() { return answer_file_; }

  /// The engine reported that it cannot be trusted any more.
  bool broken() const { return broken_; }

 private:
  WorkerSession(std::uint64_t memory_bytes, AnswerFile answer_file)
      : memory_bytes_(memory_bytes), answer_file_(std::move(answer_file)) {}

  Result<void> bind(const Source& source);
  Result<void> attach(const std::string& generation_file);
  Result<void> detach();

  Result<QueryAnswer> run_checked(duckdb_connection connection, const QueryRequest& request,
                                  QueryWatch& watch);
  Error reason_of(const Statement& statement, const RowSource::Failure& failed,
                  const QueryWatch& watch);
  /// `names` in the answer, and the types of `statement`'s columns there.
  Result<std::vector<RenderedColumn>> describe_columns(duckdb_prepared_statement statement,
                                                       std::vector<std::string> names);
  /// The rows of `result`, which come from `rows`, into the answer.
  Result<void> write_rows(ResultFormat format, QueryResult& result, RowSource& rows,
                          const std::vector<RenderedColumn>& columns,
                          const RowSource::Failure& failed, const QueryWatch& watch,
                          QueryAnswer& answer);
  Result<void> write_pieces(AnswerWriter& writer, RowSource& rows, std::uint64_t rows_per_step,
                            const RowSource::Failure& failed, const QueryWatch& watch,
                            QueryAnswer& answer);
  Result<void> write_parquet(QueryResult& result, RowSource& rows,
                             const std::vector<RenderedColumn>& columns,
                             const RowSource::Failure& failed, QueryAnswer& answer);
  Error failure(const std::string& duckdb_text, const StatementContext& context,
                const QueryWatch& watch);
  Result<const Keywords*> keywords();
  Result<const std::set<std::string>*> view_names();

  const std::uint64_t memory_bytes_;
  AnswerFile answer_file_;
  ParquetAnswer parquet_;  // before the instance that knows of it
  bool broken_ = false;
  std::string kb_folder_;                            // empty until bound
  std::string generation_file_;                      // empty while none is attached
  Keywords keywords_;                                // read at its first use
  std::optional<std::set<std::string>> view_names_;  // of the generation attached
  Database database_;
  Connection own_;  // ours alone: no reader's SQL runs on it
};

}  // namespace strata::duck
