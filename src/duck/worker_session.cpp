#include "duck/worker_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <limits>
#include <new>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/cells.h"
#include "base/scheduling.h"
#include "duck/arrow_stream.h"
#include "duck/export_type.h"
#include "duck/render.h"
#include "duck/sql.h"
#include "duck/worker_gate.h"
#include "duck/worker_host.h"
#include "duck/worker_limits.h"
#include "duck/worker_manifest.h"

namespace strata::duck {
namespace {

/// Rows rendered between two looks at the deadline.
constexpr std::uint64_t kRowsPerLook = 256;

bool is_missing_or_empty(const std::string& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  return error ? error == std::errc::no_such_file_or_directory : size == 0;
}

/// So that names without a catalog are the generation's. Per connection.
Result<void> use_catalog(duckdb_connection connection) {
  return run(connection, Sql("USE ").ident(kCatalogName));
}

/// A name that the engine may have made of another: `a_1` beside `a`.
bool is_renamed(const std::vector<std::string>& names) {
  std::set<std::string> known;
  for (const std::string& name : names) known.insert(ascii_lower(name));
  return std::ranges::any_of(known, [&known](const std::string& name) {
    const std::size_t end = name.find_last_not_of("0123456789");
    return end != std::string::npos && end + 1 < name.size() && name[end] == '_' &&
           known.contains(name.substr(0, end));
  });
}

std::vector<std::string> names_of(duckdb_prepared_statement statement) {
  std::vector<std::string> names;
  for (idx_t index = 0; index < duckdb_prepared_statement_column_count(statement); ++index) {
    // The caller's to free, whatever its type says.
    const DuckString name(
        const_cast<char*>(duckdb_prepared_statement_column_name(statement, index)));
    names.emplace_back(name.view());
  }
  return names;
}

/// As the reader's statement names them: two columns of one name are told apart once the statement
/// stands in another, and an expression that is spelled otherwise names its column otherwise.
/// Before anything runs on the connection, because to bind a statement there ends what does.
std::vector<std::string> column_names(duckdb_connection connection, const CheckedStatement& checked,
                                      duckdb_prepared_statement statement) {
  std::vector<std::string> names = names_of(statement);
  if (!checked.original || checked.explains || !(checked.respelled || is_renamed(names))) {
    return names;
  }
  Statement original;
  if (duckdb_prepare_extracted_statement(connection, checked.original.get(), 0, original.out()) ==
      DuckDBError) {
    return names;
  }
  std::vector<std::string> wanted = names_of(original.get());
  return wanted.size() == names.size() ? wanted : names;
}

Result<void> prepare(duckdb_connection connection, const std::string& sql,
                     const RowSource::Failure& failed, Statement& statement) {
  if (duckdb_prepare(connection, sql.c_str(), statement.out()) != DuckDBError) return {};
  const char* why = duckdb_prepare_error(statement.get());
  return failed(why == nullptr ? "" : why);
}

Error timed_out(std::string detail) {
  return make_error(Code::kTimeout, "the query overran its time", std::move(detail));
}

/// DDL is our own text: what is wrong with it is our bug, but for files that cannot be read.
Error ddl_failure(const std::string& duckdb_text, const DdlRequest& request) {
  const StatementContext context{.kb_folder = request.kb_folder, .sql = {}};
  Error error = describe_failure(duckdb_text, context).error;
  if (error.code == Code::kIo || error.code == Code::kOutOfMemory) return error;
  return make_error(Code::kInternal, "the views of this knowledgebase could not be written",
                    duckdb_text);
}

}  // namespace

std::vector<std::string> table_folders(const std::string& kb_folder) {
  return {kb_folder + "/strata/streams/", kb_folder + "/strata/snapshots/",
          kb_folder + "/strata/ontology/"};
}

std::vector<std::string> readable_folders(const std::string& kb_folder) {
  std::vector<std::string> folders = table_folders(kb_folder);
  folders.push_back(kb_folder + "/generations/");
  return folders;
}

Result<std::unique_ptr<WorkerSession>> WorkerSession::open(std::uint64_t memory_bytes,
                                                           AnswerFile answer_file) {
  auto session =
      std::unique_ptr<WorkerSession>(new WorkerSession(memory_bytes, std::move(answer_file)));
  STRATA_ASSIGN_OR_RETURN(session->database_, open_host({.memory_bytes = memory_bytes}));
  STRATA_ASSIGN_OR_RETURN(session->own_, connect(session->database_));
  STRATA_RETURN_IF_ERROR(run(session->own_.get(), Sql("SET GLOBAL TimeZone='UTC'")));
  STRATA_RETURN_IF_ERROR(session->parquet_.register_with(session->own_.get()));
  return session;
}

Result<void> WorkerSession::detach() {
  STRATA_RETURN_IF_ERROR(run(own_.get(), Sql("USE memory")));
  STRATA_RETURN_IF_ERROR(run(own_.get(), Sql("DETACH ").ident(kCatalogName)));
  generation_file_.clear();
  view_names_.reset();
  return {};
}

Result<void> WorkerSession::attach(const std::string& generation_file) {
  const auto attached = run(
      own_.get(),
      Sql("ATTACH ").literal(generation_file).raw(" AS ").ident(kCatalogName).raw(" (READ_ONLY)"));
  if (!attached) {
    // An empty file is a generation that was collected (architecture.md, "generations").
    if (is_missing_or_empty(generation_file)) {
      return make_error(Code::kNotFound,
                        "this version of the knowledgebase is gone: ask for the "
                        "newest again",
                        attached.error().detail);
    }
    if (attached.error().detail.find("Could not set lock") != std::string::npos) {
      return make_error(
          Code::kIo,
          "another program holds the knowledgebase's DuckDB file open for writing: close "
          "it there, or open it read-only",
          attached.error().detail);
    }
    return make_error(Code::kIo, "the knowledgebase's views could not be opened",
                      attached.error().detail);
  }
  generation_file_ = generation_file;
  return {};
}

Result<void> WorkerSession::bind(const Source& source) {
  if (kb_folder_.empty()) {
    // Locked down before anything is attached: later generations take the same way as the first.
    STRATA_RETURN_IF_ERROR(
        lock_down(own_.get(), readable_folders(source.kb_folder), answer_file_.path()));
    kb_folder_ = source.kb_folder;
  }
  if (kb_folder_ != source.kb_folder) {
    return make_error(Code::kInternal, "this worker serves another knowledgebase");
  }
  if (generation_file_ == source.generation_file) return {};
  // One name for all generations, so that SQL may spell it out; between the two nothing runs.
  if (!generation_file_.empty()) STRATA_RETURN_IF_ERROR(detach());
  return attach(source.generation_file);
}

Result<const Keywords*> WorkerSession::keywords() {
  if (keywords_.empty()) {
    STRATA_ASSIGN_OR_RETURN(
        const auto rows,
        run_for_text(own_.get(), Sql("SELECT keyword_name FROM duckdb_keywords()"), 1));
    for (const auto& row : rows) keywords_.insert(row[0]);
  }
  return &keywords_;
}

Error WorkerSession::failure(const std::string& duckdb_text, const StatementContext& context,
                             const QueryWatch& watch) {
  // An interrupted statement may fail with other words than DuckDB's for it.
  if (watch.expired()) return timed_out(duckdb_text);
  StatementFailure failure = describe_failure(duckdb_text, context);
  broken_ = broken_ || failure.engine_broken;
  return std::move(failure.error);
}

Result<QueryAnswer> WorkerSession::query(const QueryRequest& request, QueryWatch& watch) {
  STRATA_RETURN_IF_ERROR(bind(request.source));
  // A connection of its own: what one statement sets there ends with it.
  STRATA_ASSIGN_OR_RETURN(const Connection connection, connect(database_));
  STRATA_RETURN_IF_ERROR(use_catalog(connection.get()));
  watch.arm(connection.get(),
            SystemClock().steady() + std::chrono::milliseconds(request.timeout_ms));
  const GivingWay giving_way;
  auto answer = [&]() -> Result<QueryAnswer> {
    try {
      return run_checked(connection.get(), request, watch);
    } catch (const std::bad_alloc&) {
      return out_of_memory_error(memory_bytes_, "std::bad_alloc while the rows were rendered");
    } catch (const std::length_error&) {
      return out_of_memory_error(memory_bytes_, "a value too long to be rendered");
    }
  }();
  watch.disarm();
  // The interrupt may have met a statement of the gate's, which knows of no deadline.
  if (!answer && answer.error().code == Code::kInternal && watch.expired()) {
    return timed_out(answer.error().detail);
  }
  return answer;
}

Result<const std::set<std::string>*> WorkerSession::view_names() {
  if (!view_names_) {
    STRATA_ASSIGN_OR_RETURN(const auto rows,
                            run_for_text(own_.get(),
                                         Sql("SELECT lower(schema_name), lower(view_name) "
                                             "FROM duckdb_views() WHERE database_name = ")
                                             .literal(kCatalogName)
                                             .raw(" AND NOT internal"),
                                         2));
    view_names_.emplace();
    for (const auto& row : rows) view_names_->insert(row[0] + '.' + row[1]);
  }
  return &*view_names_;
}

Result<QueryAnswer> WorkerSession::run_checked(duckdb_connection connection,
                                               const QueryRequest& request, QueryWatch& watch) {
  StatementContext context{
      .kb_folder = kb_folder_, .sql = request.sql, .memory_bytes = memory_bytes_};
  STRATA_ASSIGN_OR_RETURN(const std::set<std::string>* const views, view_names());
  // Ours never uses a catalog of a kb.
  STRATA_ASSIGN_OR_RETURN(CheckedStatement checked,
                          check_statement({.query = connection, .bare = own_.get()}, context,
                                          *views, request.rows_max));
  context.tables = &checked.tables;
  context.raises = checked.raises;
  context.executed = checked.sql;
  context.places = &checked.places;
  if (checked.names_manifest) {
    STRATA_RETURN_IF_ERROR(make_manifest_table(connection, request.manifest));
  }
  const RowSource::Failure failed = [&](const std::string& duckdb_text) {
    return failure(duckdb_text, context, watch);
  };
  Statement statement;
  STRATA_RETURN_IF_ERROR(prepare(connection, checked.sql, failed, statement));
  const duckdb_statement_type expected =
      checked.explains ? DUCKDB_STATEMENT_TYPE_EXPLAIN : DUCKDB_STATEMENT_TYPE_SELECT;
  if (duckdb_prepared_statement_type(statement.get()) != expected) {
    return make_error(Code::kSqlRefused, "only one SELECT is run");
  }
  STRATA_ASSIGN_OR_RETURN(
      const auto columns,
      describe_columns(statement.get(), column_names(connection, checked, statement.get())));
  if (is_export(request.format) && !checked.explains) {  // an EXPLAIN is text
    STRATA_ASSIGN_OR_RETURN(const auto selection, export_selection(columns, request.format));
    if (selection) {
      put_around(checked, fmt::format("SELECT {} FROM (", *selection), ")");
      context.executed = checked.sql;
      STRATA_RETURN_IF_ERROR(prepare(connection, checked.sql, failed, statement));
    }
  }

  QueryAnswer answer;
  QueryResult result;
  if (duckdb_execute_prepared_streaming(statement.get(), result.get()) == DuckDBError) {
    return failed(result.error());
  }
  // Nothing leaves the worker before the last row wanted is written, so an error on the way is
  // still an error and never a short answer.
  RowSource rows(result, request.rows_max, failed);
  if (auto done = write_rows(request.format, result, rows, columns, failed, watch, answer); !done) {
    const bool hides_reason = done.error().code == Code::kTimeout && !watch.expired();
    if (!hides_reason) return std::move(done).error();
    return reason_of(statement, failed, watch);
  }
  for (const RenderedColumn& column : columns) {
    answer.head.columns.push_back({.name = column.name, .type = column.type.name});
  }
  answer.head.row_count = rows.row_count();
  answer.head.truncated = rows.truncated();
  answer.head.tables = std::move(checked.tables);
  return answer;
}

/// When one of the engine's threads fails it interrupts the others, and a stream may tell of that
/// interrupt instead of the failure. Run again with nobody who holds up the stream, it nearly
/// always tells the reason.
Error WorkerSession::reason_of(const Statement& statement, const RowSource::Failure& failed,
                               const QueryWatch& watch) {
  constexpr int kTries = 10;
  for (int tries = 0; tries < kTries; ++tries) {
    QueryResult result;
    if (duckdb_execute_prepared_streaming(statement.get(), result.get()) == DuckDBError) {
      return failed(result.error());
    }
    RowSource rows(result, std::numeric_limits<std::uint64_t>::max(), failed);
    auto some = rows.next();
    while (some && *some) some = rows.next();
    if (some) continue;  // it went well this time
    if (some.error().code != Code::kTimeout || watch.expired()) return std::move(some).error();
  }
  return engine_failed_error("interrupted by a failure that it did not tell");
}

Result<std::vector<RenderedColumn>> WorkerSession::describe_columns(
    duckdb_prepared_statement statement, std::vector<std::string> names) {
  STRATA_ASSIGN_OR_RETURN(const Keywords* const known_keywords, keywords());
  std::vector<RenderedColumn> columns;
  for (idx_t index = 0; index < names.size(); ++index) {
    const LogicalType type(duckdb_prepared_statement_column_logical_type(statement, index));
    auto described = describe_type(type.get(), *known_keywords);
    if (!described) return in_column(names[index], std::move(described).error());
    columns.push_back({.name = std::move(names[index]), .type = std::move(described).value()});
  }
  return columns;
}

Result<void> WorkerSession::write_rows(ResultFormat format, QueryResult& result, RowSource& rows,
                                       const std::vector<RenderedColumn>& columns,
                                       const RowSource::Failure& failed, const QueryWatch& watch,
                                       QueryAnswer& answer) {
  if (format == ResultFormat::kParquet) return write_parquet(result, rows, columns, failed, answer);
  if (format != ResultFormat::kArrow) {
    RowRenderer renderer(format, columns);
    return write_pieces(renderer, rows, kRowsPerLook, failed, watch, answer);
  }
  STRATA_ASSIGN_OR_RETURN(const auto stream, make_arrow_stream(result, columns, memory_bytes_));
  return write_pieces(*stream, rows, duckdb_vector_size(), failed, watch, answer);
}

Result<void> WorkerSession::write_pieces(AnswerWriter& writer, RowSource& rows,
                                         std::uint64_t rows_per_step,
                                         const RowSource::Failure& failed, const QueryWatch& watch,
                                         QueryAnswer& answer) {
  std::string piece;
  STRATA_RETURN_IF_ERROR(writer.append_start(piece));
  std::uint64_t bytes = piece.size();
  while (true) {
    STRATA_ASSIGN_OR_RETURN(const auto some, rows.next());
    if (!some) break;
    for (std::uint64_t begin = 0; begin < some->count; begin += rows_per_step) {
      if (watch.expired()) return failed("");
      const std::uint64_t end = std::min(begin + rows_per_step, some->count);
      const std::size_t size_before = piece.size();
      STRATA_RETURN_IF_ERROR(writer.append_rows(some->chunk.get(), begin, end, piece));
      bytes += piece.size() - size_before;
      if (bytes > memory_bytes_) {
        return out_of_memory_error(memory_bytes_, "the rendered rows alone are larger");
      }
      if (piece.size() >= kRowsFrameBytes) {
        answer.pieces.push_back(std::move(piece));
        piece.clear();
      }
    }
  }
  STRATA_RETURN_IF_ERROR(writer.append_end(piece));
  if (!piece.empty()) answer.pieces.push_back(std::move(piece));
  return {};
}

Result<void> WorkerSession::write_parquet(QueryResult& result, RowSource& rows,
                                          const std::vector<RenderedColumn>& columns,
                                          const RowSource::Failure& failed, QueryAnswer& answer) {
  std::vector<ParquetAnswer::Column> written;
  std::vector<std::string> names = unique_names(columns, true);
  for (idx_t index = 0; index < names.size(); ++index) {
    written.push_back({.name = std::move(names[index]),
                       .type = LogicalType(duckdb_column_logical_type(result.get(), index))});
  }
  STRATA_ASSIGN_OR_RETURN(const Connection connection, connect(database_));
  auto copied = [&] {
    const WritingAllowed allowed;
    return parquet_.write(connection.get(), rows, written, answer_file_.path());
  }();
  if (copied) {
    STRATA_ASSIGN_OR_RETURN(answer.file_bytes, answer_file_.size());
    return {};
  }
  answer_file_.clear();
  if (copied.error().code != Code::kInternal) return copied;
  const std::string& why = copied.error().detail;
  // Only the limit on its size stops a write to memory.
  if (why.find("File too large") != std::string::npos) {
    return out_of_memory_error(memory_bytes_, why);
  }
  return failed(why);
}

Result<std::vector<View>> WorkerSession::views(const Source& source) {
  STRATA_RETURN_IF_ERROR(bind(source));
  STRATA_ASSIGN_OR_RETURN(
      auto rows, run_for_text(own_.get(),
                              Sql("SELECT schema_name, view_name, sql FROM duckdb_views() "
                                  "WHERE database_name = ")
                                  .literal(kCatalogName)
                                  .raw(" AND NOT internal ORDER BY schema_name, view_name"),
                              3));
  std::vector<View> views;
  views.reserve(rows.size());
  for (auto& row : rows) {
    views.push_back(
        {.schema = std::move(row[0]), .name = std::move(row[1]), .sql = std::move(row[2])});
  }
  return views;
}

Result<void> WorkerSession::run_ddl(const DdlRequest& request) {
  const std::filesystem::path file(request.database_file);
  std::vector<std::string> folders = table_folders(request.kb_folder);
  folders.push_back(file.parent_path().string() + "/");
  STRATA_RETURN_IF_ERROR(lock_down(own_.get(), folders, answer_file_.path()));
  const Sql attach_sql =
      Sql("ATTACH ").literal(request.database_file).raw(" AS ").ident(kCatalogName);
  if (const auto attached = run(own_.get(), attach_sql); !attached) {
    return make_error(Code::kIo, "the new version of the knowledgebase's views could not be opened",
                      attached.error().detail);
  }
  std::vector<std::string> steps = {Sql("USE ").ident(kCatalogName).str(), "BEGIN"};
  // They come from the server as duck::Sql made them.
  std::ranges::copy(request.statements, std::back_inserter(steps));
  steps.emplace_back("COMMIT");
  steps.push_back(Sql("CHECKPOINT ").ident(kCatalogName).str());
  for (const std::string& step : steps) {
    QueryResult result;
    if (duckdb_query(own_.get(), step.c_str(), result.get()) == DuckDBError) {
      // Nothing is rolled back: the file is a private copy that the caller throws away.
      return ddl_failure(result.error(), request);
    }
  }
  STRATA_RETURN_IF_ERROR(detach());
  own_.reset();
  database_.reset();
  std::error_code error;
  if (std::filesystem::exists(request.database_file + ".wal", error) || error) {
    return make_error(Code::kInternal, "the views of this knowledgebase could not be written",
                      "a .wal is left");
  }
  return {};
}

}  // namespace strata::duck
