#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "catalog/postgres_connection.h"
#include "catalog/postgres_url.h"
#include "catalog/sql_text.h"

namespace strata::catalog {

inline constexpr std::size_t kPostgresConnectionsMax = 4;

struct PostgresOptions {
  /// `postgresql://...`; may hold a password, which no error repeats.
  std::string url;
  PostgresTimeouts timeouts = {};
  std::size_t connections_max = kPostgresConnectionsMax;
};

/// How long, after a connect failed, everybody is told so at once before one call tries again.
inline constexpr std::chrono::milliseconds kPostgresRetryPause{1'000};

/// `make_row` turns a PostgresRow into one of the list.
template <typename Row, typename MakeRow>
std::vector<Row> rows_of(const PostgresAnswer& answer, MakeRow make_row) {
  std::vector<Row> rows;
  for (int place = 0; place < answer.rows(); ++place) rows.push_back(make_row(answer.row(place)));
  return rows;
}

/// One database behind a few connections, made when calls need them: its owner works while it is
/// away, its calls fail at once meanwhile but for the one that tries again, and work when it is
/// back. Each new connection brings Strata's tables up to date first, so a database that came back
/// empty or from a backup has them too. Thread-safe. Errors: those of PostgresConnection;
/// kConflict: a newer Strata wrote the tables; kBusy also when no connection came free in time.
class PostgresDatabase {
 public:
  /// Connects to nothing yet. Script i of `schema` takes the tables from version i to i + 1, in a
  /// transaction of its own and within the time of a statement; the first one makes
  /// `strata.schema_version (version)`. `schema` and `clock` must outlive this.
  /// kBadRequest: no URL of PostgreSQL.
  static Result<std::unique_ptr<PostgresDatabase>> create(const PostgresOptions& options,
                                                          std::span<const SqlText> schema,
                                                          const Clock& clock);

  /// Whether a statement would be answered now; for /readyz.
  Result<void> ping();

  /// Durable when it returns. After a kIo it may have happened or not.
  Result<void> write(SqlText sql, PostgresValues values);

  /// rows_of what it answers. Also for a write with RETURNING.
  template <typename Row, typename MakeRow>
  Result<std::vector<Row>> read(SqlText sql, PostgresValues values, MakeRow make_row) {
    STRATA_ASSIGN_OR_RETURN(const Borrowed borrowed, borrow());
    STRATA_ASSIGN_OR_RETURN(const auto answer, borrowed->run(sql, values));
    return rows_of<Row>(answer, make_row);
  }

  /// What `work` answers. Each of its statements is a transaction of its own.
  template <typename Work>
  std::invoke_result_t<Work, PostgresConnection&> with_session(Work work) {
    STRATA_ASSIGN_OR_RETURN(const Borrowed borrowed, borrow());
    return work(*borrowed.operator->());
  }

  /// PostgresConnection::transaction.
  template <typename Work>
  Result<void> transaction(Work work) {
    STRATA_ASSIGN_OR_RETURN(const Borrowed borrowed, borrow());
    return borrowed->transaction(std::move(work));
  }

 private:
  /// One of the connections, or the right to make one; given back when it goes.
  class Borrowed {
   public:
    explicit Borrowed(PostgresDatabase& from) : from_(&from) {}
    Borrowed(Borrowed&& other) noexcept
        : from_(std::exchange(other.from_, nullptr)),
          connection_(std::move(other.connection_)),
          tries_again_(other.tries_again_) {}
    Borrowed& operator=(Borrowed&&) = delete;
    ~Borrowed() {
      if (from_ != nullptr) from_->take_back(std::move(connection_), tries_again_);
    }
    PostgresConnection* operator->() const { return connection_.get(); }

   private:
    friend class PostgresDatabase;
    PostgresDatabase* from_;
    std::unique_ptr<PostgresConnection> connection_;
    bool tries_again_ = false;
  };

  PostgresDatabase(PostgresUrl url, const PostgresOptions& options, std::span<const SqlText> schema,
                   const Clock& clock);

  Result<Borrowed> borrow();
  Result<Borrowed> wait_for_one();
  void take_back(std::unique_ptr<PostgresConnection> connection, bool tried_again);
  bool fails_at_once() const;
  std::unique_ptr<PostgresConnection> take_idle();
  Result<std::unique_ptr<PostgresConnection>> connect() const;
  Result<void> bring_up_to_date(PostgresConnection& connection) const;

  const PostgresUrl url_;
  const PostgresTimeouts timeouts_;
  const std::size_t connections_max_;
  const std::span<const SqlText> schema_;
  const Clock& clock_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // By mutex_:
  std::vector<std::unique_ptr<PostgresConnection>> idle_;
  std::size_t borrowed_ = 0;
  std::optional<Error> failure_;  // of the last connect; empty: it worked
  SteadyTime retry_at_{};
  bool trying_again_ = false;
};

}  // namespace strata::catalog
