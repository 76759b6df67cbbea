#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "catalog/sql_text.h"

/// Ownership over the SQLite C API; private to this folder.
namespace strata::catalog {

/// One execution of one statement. Not thread-safe.
class SqliteStatement {
 public:
  static Result<SqliteStatement> prepare(sqlite3* database, SqlText sql);

  /// Places count from 1. The text must outlive the last step.
  void bind(int place, std::string_view text);
  void bind(int place, std::optional<std::uint64_t> number);
  /// Whether a row stands.
  Result<bool> step();
  /// Columns count from 0.
  std::string text(int column) const;
  std::optional<std::uint64_t> number(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  explicit SqliteStatement(sqlite3_stmt* statement) : statement_(statement) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_failure_ = SQLITE_OK;
};

/// What runs statements on an open database. Not thread-safe.
class SqliteSession {
 public:
  explicit SqliteSession(sqlite3* handle) : handle_(handle) {}

  /// `bind` gets the statement to bind its values.
  template <typename Bind>
  Result<void> write(SqlText sql, Bind bind) {
    STRATA_ASSIGN_OR_RETURN(auto statement, SqliteStatement::prepare(handle_, sql));
    bind(statement);
    STRATA_ASSIGN_OR_RETURN([[maybe_unused]] const bool row, statement.step());
    return {};
  }

  /// `make_row` turns the standing row into one of the answer. Also for a write with RETURNING.
  template <typename Row, typename Bind, typename MakeRow>
  Result<std::vector<Row>> read(SqlText sql, Bind bind, MakeRow make_row) {
    STRATA_ASSIGN_OR_RETURN(auto statement, SqliteStatement::prepare(handle_, sql));
    bind(statement);
    std::vector<Row> rows;
    while (true) {
      STRATA_ASSIGN_OR_RETURN(const bool more, statement.step());
      if (!more) return rows;
      rows.push_back(make_row(statement));
    }
  }

  template <typename Row, typename MakeRow>
  Result<std::vector<Row>> read(SqlText sql, MakeRow make_row) {
    return read<Row>(sql, [](SqliteStatement&) {}, make_row);
  }

  /// Any number of statements, without values.
  Result<void> run_script(SqlText script);

 private:
  sqlite3* handle_;
};

/// One SQLite file behind a mutex, opened by the first call that needs it. Thread-safe.
class SqliteDatabase {
 public:
  struct Options {
    std::string path;
    /// Script i takes the file from user_version i to i + 1 and says so itself.
    std::span<const SqlText> schema;
    std::chrono::milliseconds busy_wait;
  };
  explicit SqliteDatabase(Options options) : options_(std::move(options)) {}

  Result<void> open();

  /// What `work` answers. Each of its statements is a transaction of its own.
  template <typename Work>
  std::invoke_result_t<Work, SqliteSession&> with_session(Work work) {
    const std::lock_guard lock(mutex_);
    STRATA_RETURN_IF_ERROR(open_locked());
    SqliteSession session(handle_.get());
    return work(session);
  }

  /// SqliteSession's, one statement.
  template <typename... Parts>
  Result<void> write(SqlText sql, Parts... parts) {
    return with_session([&](SqliteSession& session) { return session.write(sql, parts...); });
  }
  template <typename Row, typename... Parts>
  Result<std::vector<Row>> read(SqlText sql, Parts... parts) {
    return with_session([&](SqliteSession& session) { return session.read<Row>(sql, parts...); });
  }

  /// All of `work` or nothing; an error of it rolls back. Nobody else writes meanwhile, so what it
  /// reads is of one instant.
  template <typename Work>
  Result<void> transaction(Work work) {
    return with_session([&work](SqliteSession& session) -> Result<void> {
      STRATA_RETURN_IF_ERROR(session.run_script("BEGIN IMMEDIATE"));
      Result<void> done = work(session);
      if (done) done = session.run_script("COMMIT");
      // A commit that a reader kept waiting for too long leaves its transaction open.
      if (!done) ignore(session.run_script("ROLLBACK"), "some failures have rolled back already");
      return done;
    });
  }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close(handle); }
  };
  using Handle = std::unique_ptr<sqlite3, Close>;

  Result<void> open_locked();
  Result<void> bring_up_to_date(sqlite3* handle) const;

  const Options options_;
  std::mutex mutex_;
  Handle handle_;  // by mutex_; empty until an open succeeded
};

}  // namespace strata::catalog
