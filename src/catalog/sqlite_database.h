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

  /// `bind` gets the statement to bind its values.
  template <typename Bind>
  Result<void> write(SqlText sql, Bind bind) {
    const std::lock_guard lock(mutex_);
    STRATA_RETURN_IF_ERROR(open_locked());
    STRATA_ASSIGN_OR_RETURN(auto statement, SqliteStatement::prepare(handle_.get(), sql));
    bind(statement);
    STRATA_ASSIGN_OR_RETURN([[maybe_unused]] const bool row, statement.step());
    return {};
  }

  /// `make_row` turns the standing row into one of the answer.
  template <typename Row, typename MakeRow>
  Result<std::vector<Row>> read(SqlText sql, MakeRow make_row) {
    const std::lock_guard lock(mutex_);
    STRATA_RETURN_IF_ERROR(open_locked());
    STRATA_ASSIGN_OR_RETURN(auto statement, SqliteStatement::prepare(handle_.get(), sql));
    std::vector<Row> rows;
    while (true) {
      STRATA_ASSIGN_OR_RETURN(const bool more, statement.step());
      if (!more) return rows;
      rows.push_back(make_row(statement));
    }
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
