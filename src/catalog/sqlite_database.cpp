#include "catalog/sqlite_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "catalog/schema_version.h"
#include "catalog/sqlite_catalog.h"

namespace strata::catalog {
namespace {

/// What the last call on `handle` failed with; the text dies with the next call, so it is copied.
Error failure(sqlite3* handle, int result) {
  std::string detail = fmt::format(
      "SQLite {}: {}", result, handle == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(handle));
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return make_error(Code::kBusy, "The catalog is being written by somebody else; try again.",
                        std::move(detail));
    case SQLITE_NOMEM:
      return make_error(Code::kBusy, "There is no memory left for the catalog; try again.",
                        std::move(detail));
    case SQLITE_FULL:
      return make_error(Code::kDiskFull,
                        "The disk that holds the catalog is full; free some space and try again.",
                        std::move(detail));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return make_error(Code::kIo,
                        "The catalog is damaged. It is an index that can be rebuilt: stop Strata, "
                        "move the file away and start again.",
                        std::move(detail));
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_PROTOCOL:
      return make_error(Code::kIo, "The catalog could not be read or written.", std::move(detail));
    default:
      return make_error(Code::kInternal, "The catalog refused a statement of ours.",
                        std::move(detail));
  }
}

Result<void> run(sqlite3* handle, SqlText script) {
  const int result = sqlite3_exec(handle, script.text, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) return failure(handle, result);
  return {};
}

Result<std::uint64_t> schema_version(sqlite3* handle) {
  STRATA_ASSIGN_OR_RETURN(auto statement, SqliteStatement::prepare(handle, "PRAGMA user_version"));
  STRATA_ASSIGN_OR_RETURN(const bool row, statement.step());
  STRATA_CHECK(row);
  return statement.number(0).value_or(0);
}

}  // namespace

Result<SqliteStatement> SqliteStatement::prepare(sqlite3* database, SqlText sql) {
  sqlite3_stmt* raw = nullptr;
  const int result = sqlite3_prepare_v2(database, sql.text, -1, &raw, nullptr);
  if (result != SQLITE_OK) return failure(database, result);
  return SqliteStatement(raw);
}

void SqliteStatement::bind(int place, std::string_view text) {
  const int result = sqlite3_bind_text64(statement_.get(), place, text.data(), text.size(),
                                         SQLITE_STATIC, SQLITE_UTF8);
  if (bind_failure_ == SQLITE_OK) bind_failure_ = result;
}

void SqliteStatement::bind(int place, std::optional<std::uint64_t> number) {
  const int result =
      number ? sqlite3_bind_int64(statement_.get(), place, static_cast<sqlite3_int64>(*number))
             : sqlite3_bind_null(statement_.get(), place);
  if (bind_failure_ == SQLITE_OK) bind_failure_ = result;
}

Result<bool> SqliteStatement::step() {
  sqlite3* const database = sqlite3_db_handle(statement_.get());
  if (bind_failure_ != SQLITE_OK) return failure(database, bind_failure_);
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return failure(database, result);
}

std::string SqliteStatement::text(int column) const {
  // The order matters: the size is that of the text only after the text was asked for.
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::optional<std::uint64_t> SqliteStatement::number(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), column));
}

Result<void> SqliteSession::run_script(SqlText script) { return run(handle_, script); }

Result<void> SqliteDatabase::open() {
  const std::lock_guard lock(mutex_);
  return open_locked();
}

Result<void> SqliteDatabase::open_locked() {
  if (handle_ != nullptr) return {};
  constexpr int kFlags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  sqlite3* raw = nullptr;
  const int result = sqlite3_open_v2(options_.path.c_str(), &raw, kFlags, nullptr);
  Handle handle(raw);  // a failed open leaves a handle too, and the reason in it
  if (result != SQLITE_OK) return failure(raw, result);
  sqlite3_busy_timeout(raw, static_cast<int>(options_.busy_wait.count()));
  // EXTRA syncs the folder after the journal went, so that a power cut cannot bring back a journal
  // that undoes a row already promised.
  STRATA_RETURN_IF_ERROR(run(raw, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA"));
  STRATA_RETURN_IF_ERROR(bring_up_to_date(raw));
  handle_ = std::move(handle);
  return {};
}

Result<void> SqliteDatabase::bring_up_to_date(sqlite3* handle) const {
  const std::uint64_t wanted = options_.schema.size();
  STRATA_ASSIGN_OR_RETURN(std::uint64_t version, schema_version(handle));
  if (version < wanted) {
    // Read again under the write lock: two processes may open a fresh file at once. An error on
    // the way closes the handle, which rolls back.
    STRATA_RETURN_IF_ERROR(run(handle, "BEGIN IMMEDIATE"));
    STRATA_ASSIGN_OR_RETURN(version, schema_version(handle));
    for (std::uint64_t step = version; step < wanted; ++step) {
      STRATA_RETURN_IF_ERROR(run(handle, options_.schema[step]));
    }
    STRATA_RETURN_IF_ERROR(run(handle, "COMMIT"));
    version = std::max(version, wanted);
  }
  return check_schema_version(version, wanted);
}

Result<void> back_up_sqlite(const std::string& from, const std::string& to) {
  using Handle = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;
  const auto open = [](const std::string& path, int flags) {
    sqlite3* raw = nullptr;
    const int result = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_EXRESCODE, nullptr);
    return std::pair(result, Handle(raw, &sqlite3_close));
  };
  const auto [source_result, source] = open(from, SQLITE_OPEN_READONLY);
  if ((source_result & 0xff) == SQLITE_CANTOPEN) return {};
  if (source_result != SQLITE_OK) return failure(source.get(), source_result);
  const auto [target_result, target] = open(to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (target_result != SQLITE_OK) return failure(target.get(), target_result);
  sqlite3_busy_timeout(source.get(), static_cast<int>(kSqliteBusyWait.count()));
  STRATA_RETURN_IF_ERROR(run(target.get(), "PRAGMA synchronous=EXTRA"));
  sqlite3_backup* const backup = sqlite3_backup_init(target.get(), "main", source.get(), "main");
  if (backup == nullptr) return failure(target.get(), sqlite3_extended_errcode(target.get()));
  // All pages in one step, which is one read transaction.
  const int stepped = sqlite3_backup_step(backup, -1);
  const int finished = sqlite3_backup_finish(backup);
  if (stepped != SQLITE_DONE) return failure(nullptr, stepped);
  if (finished != SQLITE_OK) return failure(target.get(), finished);
  return {};
}

}  // namespace strata::catalog
