#include "duck/workbench_session.h"

#include <chrono>
#include <cstddef>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "duck/handles.h"
#include "duck/worker_connection.h"
#include "duck/worker_error.h"
#include "duck/worker_host.h"
#include "duck/worker_limits.h"
#include "duck/worker_session.h"
#include "duck/worker_watch.h"
#include "duck/write_error.h"

namespace strata::duck {
namespace {

/// For the end of a step.
constexpr std::chrono::seconds kCpuTimeExtra{60};

class WorkbenchSession {
 public:
  WorkbenchSession(const SetUpRequest& set_up, Database database, Connection connection)
      : kb_folder_(set_up.kb_folder),
        memory_bytes_(set_up.memory_bytes),
        database_(std::move(database)),
        connection_(std::move(connection)) {}

  /// The rows, if they are wanted.
  Result<std::vector<TextRow>> run(const StepRequest& request, QueryWatch& watch) {
    watch.arm(connection_.get(),
              SystemClock().steady() + std::chrono::milliseconds(request.timeout_ms));
    auto done = [&]() -> Result<std::vector<TextRow>> {
      try {
        return execute(request, watch);
      } catch (const std::bad_alloc&) {
        return out_of_memory_error(memory_bytes_, "std::bad_alloc");
      } catch (const std::length_error&) {
        return out_of_memory_error(memory_bytes_, "a value too long");
      }
    }();
    watch.disarm();
    return done;
  }

  bool broken() const { return broken_; }

 private:
  Result<std::vector<TextRow>> execute(const StepRequest& request, const QueryWatch& watch);
  Result<std::vector<TextRow>> fetch(QueryResult& result, std::uint64_t rows_max,
                                     const QueryWatch& watch);
  Error failure(const std::string& duckdb_text, const QueryWatch& watch);

  const std::string kb_folder_;
  const std::uint64_t memory_bytes_;
  bool broken_ = false;
  Database database_;
  Connection connection_;
};

/// The statements are our own: what is wrong with one is our bug, but for the disk and the memory.
Error WorkbenchSession::failure(const std::string& duckdb_text, const QueryWatch& watch) {
  if (watch.expired()) {
    return make_error(Code::kTimeout, "the step overran its time", duckdb_text);
  }
  if (is_disk_full(duckdb_text)) {
    return make_error(Code::kDiskFull,
                      "the disk is too full for this job: free some space, then start it again",
                      duckdb_text);
  }
  StatementFailure failure = describe_failure(
      duckdb_text, {.kb_folder = kb_folder_, .sql = {}, .memory_bytes = memory_bytes_});
  broken_ = broken_ || failure.engine_broken;
  const Code code = failure.error.code;
  if (code == Code::kIo || code == Code::kOutOfMemory || code == Code::kTimeout) {
    return std::move(failure.error);
  }
  return make_error(Code::kInternal, "a step of this job failed", duckdb_text);
}

/// Every column cast to text around the statement, so that one way of reading does for all types.
std::string as_text(const StepRequest& request) {
  return "SELECT COLUMNS(*)::VARCHAR FROM (" + request.sql + ") LIMIT " +
         std::to_string(request.rows_max + 1);
}

Result<std::vector<TextRow>> WorkbenchSession::execute(const StepRequest& request,
                                                       const QueryWatch& watch) {
  const std::string sql = request.wants_rows ? as_text(request) : request.sql;
  QueryResult result;
  if (duckdb_query(connection_.get(), sql.c_str(), result.get()) == DuckDBError) {
    return failure(result.error(), watch);
  }
  if (!request.wants_rows) return std::vector<TextRow>();
  return fetch(result, request.rows_max, watch);
}

Result<std::vector<TextRow>> WorkbenchSession::fetch(QueryResult& result, std::uint64_t rows_max,
                                                     const QueryWatch& watch) {
  const idx_t columns = duckdb_column_count(result.get());
  std::vector<TextRow> rows;
  while (const Chunk chunk = Chunk(duckdb_fetch_chunk(*result.get()))) {
    const std::size_t begin = rows.size();
    rows.resize(begin + duckdb_data_chunk_get_size(chunk.get()), TextRow(columns));
    for (idx_t column = 0; column < columns; ++column) {
      const duckdb_vector vector = duckdb_data_chunk_get_vector(chunk.get(), column);
      const auto* values = static_cast<const duckdb_string_t*>(duckdb_vector_get_data(vector));
      std::uint64_t* validity = duckdb_vector_get_validity(vector);
      for (std::size_t row = begin; row < rows.size(); ++row) {
        if (validity == nullptr || duckdb_validity_row_is_valid(validity, row - begin)) {
          rows[row][column] = string_view_of(values[row - begin]);
        }
      }
    }
  }
  // A result that failed on the way ends like one that is complete (duckdb-facts.md C4).
  if (const std::string why = result.error(); !why.empty()) return failure(why, watch);
  if (rows.size() > rows_max) {
    return make_error(Code::kInternal, "a step of this job failed", "more rows than were expected");
  }
  return rows;
}

Result<void> send_text_rows(int socket, const std::vector<TextRow>& rows) {
  const std::string encoded = encode(rows);
  if (encoded.size() > kTextRowsBytesMax) {
    return make_error(Code::kInternal, "a step of this job failed", "rows larger than expected");
  }
  for (std::string_view left = encoded; !left.empty();) {
    const std::string_view frame = left.substr(0, kRowsFrameBytes);
    STRATA_RETURN_IF_ERROR(send_frame(socket, FrameKind::kRows, frame, {}));
    left.remove_prefix(frame.size());
  }
  return {};
}

Result<void> answer(int socket, const StepRequest& request,
                    const Result<std::vector<TextRow>>& done) {
  if (!done) return send_frame(socket, FrameKind::kError, encode(done.error()), {});
  if (!request.wants_rows) return send_frame(socket, FrameKind::kDone, {}, {});
  const auto sent = send_text_rows(socket, *done);
  if (sent || sent.error().code != Code::kInternal) return sent;
  return send_frame(socket, FrameKind::kError, encode(sent.error()), {});
}

Result<void> say_end(int socket, bool worn) {
  return send_frame(socket, FrameKind::kEnd, encode(AnswerEnd{.worn = worn}), {});
}

Result<WorkbenchSession> open(const SetUpRequest& set_up) {
  STRATA_ASSIGN_OR_RETURN(Database database, open_host({.memory_bytes = set_up.memory_bytes,
                                                        .spill_folder = set_up.writable_folder}));
  STRATA_ASSIGN_OR_RETURN(Connection connection, connect(database));
  STRATA_RETURN_IF_ERROR(run(connection.get(), Sql("SET GLOBAL TimeZone='UTC'")));
  std::vector<std::string> folders = table_folders(set_up.kb_folder);
  folders.push_back(set_up.writable_folder + "/");
  STRATA_RETURN_IF_ERROR(lock_down(connection.get(), folders, ""));
  return WorkbenchSession(set_up, std::move(database), std::move(connection));
}

}  // namespace

Result<void> serve_workbench(int socket, const SetUpRequest& set_up) {
  STRATA_ASSIGN_OR_RETURN(WorkbenchSession session, open(set_up));
  QueryWatch watch(socket);
  STRATA_RETURN_IF_ERROR(send_frame(socket, FrameKind::kDone, {}, {}));
  STRATA_RETURN_IF_ERROR(say_end(socket, false));
  while (true) {
    STRATA_ASSIGN_OR_RETURN(const Frame frame, receive_frame(socket, {}));
    if (frame.kind != FrameKind::kStep) {
      return make_error(Code::kInternal, "this worker runs a job's steps only");
    }
    STRATA_ASSIGN_OR_RETURN(const StepRequest request, decode_step(frame.payload));
    allow_cpu_time(kCpuTimeExtra + std::chrono::seconds(request.timeout_ms / 1'000));
    const auto done = session.run(request, watch);
    STRATA_RETURN_IF_ERROR(answer(socket, request, done));
    // After these two the engine holds, or may hold, what the next statement would miss.
    const bool spent =
        !done && (done.error().code == Code::kTimeout || done.error().code == Code::kOutOfMemory);
    STRATA_RETURN_IF_ERROR(say_end(socket, spent || session.broken()));
  }
}

}  // namespace strata::duck
