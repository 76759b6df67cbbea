#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "catalog/postgres_url.h"
#include "catalog/sql_text.h"

struct pg_conn;    // libpq's PGconn
struct pg_result;  // libpq's PGresult

/// Ownership over libpq: a connection and what its statements answer.
namespace strata::catalog {

inline constexpr std::chrono::seconds kPostgresConnectTimeout{3};
inline constexpr std::chrono::milliseconds kPostgresStatementTimeout{5'000};

struct PostgresTimeouts {
  /// For each host and address that the URL stands for; libpq knows whole seconds, two at least.
  std::chrono::seconds connect = kPostgresConnectTimeout;
  /// What the server ends a statement after. One that waits for a lock ends a fifth earlier, so
  /// that the answer says why.
  std::chrono::milliseconds statement = kPostgresStatementTimeout;
};

/// A value to bind. A text has to outlive the call that binds it, and may hold anything: it goes
/// with its length, so that the server refuses what it cannot store and nothing is cut short.
class PostgresValue {
 public:
  PostgresValue(std::string_view text) : text_(text) {}  // NOLINT: implicit
  PostgresValue(const std::string& text) : PostgresValue(std::string_view(text)) {}  // NOLINT
  PostgresValue(std::optional<std::uint64_t> number)  // NOLINT: implicit
      : digits_(number ? std::to_string(*number) : std::string()) {}

  bool is_text() const { return text_.has_value(); }
  std::string_view text() const { return *text_; }
  /// Decimal; empty: NULL.
  const std::string& digits() const { return digits_; }

 private:
  std::optional<std::string_view> text_;
  std::string digits_;
};

using PostgresValues = std::initializer_list<PostgresValue>;

/// One row of an answer, valid as long as that. Columns count from 0.
class PostgresRow {
 public:
  PostgresRow(const pg_result* result, int row) : result_(result), row_(row) {}
  std::string text(int column) const;
  std::optional<std::uint64_t> number(int column) const;

 private:
  const pg_result* result_;
  int row_;
};

class PostgresAnswer {
 public:
  explicit PostgresAnswer(pg_result* result) : result_(result) {}
  int rows() const;
  PostgresRow row(int place) const { return {result_.get(), place}; }

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

/// One session. Not thread-safe. Errors of its calls: kBusy (a lock, a deadlock, too slow or too
/// full: again in a moment), kIo (out of reach, no answer in time, not allowed), kDiskFull,
/// kInternal (a statement of ours was refused). After a kIo what was sent may have happened.
class PostgresConnection {
 public:
  /// Blocks at most for the connect timeout and that of the statement which sets the session up.
  /// `clock` must outlive the connection. Errors: kIo, kBusy.
  static Result<std::unique_ptr<PostgresConnection>> connect(const PostgresUrl& url,
                                                             const PostgresTimeouts& timeouts,
                                                             const Clock& clock);

  /// One statement, prepared by its first run in this session; $1 is the first value.
  Result<PostgresAnswer> run(SqlText sql, PostgresValues values = {});
  /// Any number of statements, one transaction unless they say otherwise.
  Result<void> run_script(SqlText script);
  /// All of `work` or nothing; an error of it rolls back. `work` gives each error on.
  template <typename Work>
  Result<void> transaction(Work work) {
    // Each statement sees what was committed before it: one that waited for a lock has to.
    STRATA_RETURN_IF_ERROR(run_script("BEGIN ISOLATION LEVEL READ COMMITTED"));
    const Result<void> done = work(*this);
    const Result<void> ended = done ? run_script("COMMIT") : run_script("ROLLBACK");
    return done ? ended : done;
  }

  /// Whether the next statement may be run here: nothing failed but what says kBusy, no transaction
  /// is open and the server has not hung up.
  bool is_reusable() const;

 private:
  struct Finish {
    void operator()(pg_conn* connection) const;
  };
  using Handle = std::unique_ptr<pg_conn, Finish>;

  PostgresConnection(const PostgresTimeouts& timeouts, const Clock& clock);

  Result<void> set_up(const PostgresTimeouts& timeouts);
  Result<std::string> prepare(SqlText sql);
  Result<PostgresAnswer> finish(bool sent);
  Result<PostgresAnswer> collect(SteadyTime deadline);
  Result<void> send_rest(SteadyTime deadline);
  Result<void> wait_for(short events, SteadyTime deadline);
  Error lost();

  Handle handle_;
  const Clock& clock_;
  const std::chrono::milliseconds answer_wait_;
  std::unordered_map<std::string_view, std::string> prepared_;  // by SQL text, a literal
  bool spoiled_ = false;
};

}  // namespace strata::catalog
