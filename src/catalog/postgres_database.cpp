#include "catalog/postgres_database.h"

#include <cstdint>
#include <utility>

#include "catalog/schema_version.h"

namespace strata::catalog {
namespace {

Result<std::uint64_t> one_number(PostgresConnection& connection, SqlText sql) {
  STRATA_ASSIGN_OR_RETURN(const auto answer, connection.run(sql));
  if (answer.rows() != 1) {
    return make_error(Code::kInternal, "The catalog answered not one row where it had to.");
  }
  return answer.row(0).number(0).value_or(0);
}

Result<std::uint64_t> schema_version(PostgresConnection& connection) {
  // By the table's row and not by to_regclass: that one goes by a cache, which does not yet know
  // what was committed while this transaction waited for its lock.
  STRATA_ASSIGN_OR_RETURN(const auto has_table,
                          one_number(connection, R"sql(SELECT count(*) FROM pg_catalog.pg_tables
                                   WHERE schemaname = 'strata'
                                     AND tablename = 'schema_version')sql"));
  if (has_table == 0) return 0;
  return one_number(connection, "SELECT coalesce(max(version), 0) FROM strata.schema_version");
}

/// From `version` to the next. Two processes may meet at a fresh database: the lock ends with the
/// transaction, and who waited for it finds the version gone on.
Result<void> step_up(PostgresConnection& connection, std::uint64_t version, SqlText script) {
  return connection.transaction([version, script](PostgresConnection& session) -> Result<void> {
    // The number is "strata" in ASCII: no other program's lock of this database.
    STRATA_ASSIGN_OR_RETURN([[maybe_unused]] const auto locked,
                            session.run("SELECT pg_advisory_xact_lock(126943972389985)"));
    STRATA_ASSIGN_OR_RETURN(const std::uint64_t now, schema_version(session));
    if (now != version) return {};
    STRATA_RETURN_IF_ERROR(session.run_script(script));
    STRATA_ASSIGN_OR_RETURN([[maybe_unused]] const auto noted,
                            session.run("INSERT INTO strata.schema_version (version) VALUES ($1)",
                                        {std::optional(version + 1)}));
    return {};
  });
}

}  // namespace

PostgresDatabase::PostgresDatabase(PostgresUrl url, const PostgresOptions& options,
                                   std::span<const SqlText> schema, const Clock& clock)
    : url_(std::move(url)),
      timeouts_(options.timeouts),
      connections_max_(options.connections_max),
      schema_(schema),
      clock_(clock) {}

Result<std::unique_ptr<PostgresDatabase>> PostgresDatabase::create(const PostgresOptions& options,
                                                                   std::span<const SqlText> schema,
                                                                   const Clock& clock) {
  STRATA_CHECK(options.connections_max > 0);
  // To libpq and to the server 0 is no limit.
  STRATA_CHECK(options.timeouts.connect.count() > 0 && options.timeouts.statement.count() > 0);
  STRATA_ASSIGN_OR_RETURN(const PostgresUrl url, PostgresUrl::parse(options.url));
  return std::unique_ptr<PostgresDatabase>(new PostgresDatabase(url, options, schema, clock));
}

Result<void> PostgresDatabase::ping() { return write("SELECT 1", {}); }

Result<void> PostgresDatabase::write(SqlText sql, PostgresValues values) {
  STRATA_ASSIGN_OR_RETURN(const Borrowed borrowed, borrow());
  STRATA_ASSIGN_OR_RETURN([[maybe_unused]] const auto answer, borrowed->run(sql, values));
  return {};
}

Result<PostgresDatabase::Borrowed> PostgresDatabase::borrow() {
  STRATA_ASSIGN_OR_RETURN(Borrowed borrowed, wait_for_one());
  if (borrowed.connection_ != nullptr) return borrowed;
  auto connection = connect();
  const std::lock_guard lock(mutex_);
  if (!connection) {
    failure_ = connection.error();
    retry_at_ = clock_.steady() + kPostgresRetryPause;
    return std::move(connection).error();
  }
  failure_.reset();
  borrowed.connection_ = std::move(connection).value();
  return borrowed;
}

/// An idle connection, or the right to make one.
Result<PostgresDatabase::Borrowed> PostgresDatabase::wait_for_one() {
  std::unique_lock lock(mutex_);
  std::unique_ptr<PostgresConnection> idle;
  const bool came = changed_.wait_for(lock, timeouts_.statement, [&] {
    idle = take_idle();
    return idle != nullptr || fails_at_once() || borrowed_ < connections_max_;
  });
  if (!came) {
    return make_error(Code::kBusy, "The catalog has more to do than it can now; try again.",
                      "every connection to PostgreSQL is in use");
  }
  if (idle == nullptr && fails_at_once()) return *failure_;
  Borrowed borrowed(*this);
  ++borrowed_;
  borrowed.connection_ = std::move(idle);
  borrowed.tries_again_ = borrowed.connection_ == nullptr && failure_.has_value();
  trying_again_ = trying_again_ || borrowed.tries_again_;
  return borrowed;
}

/// Under mutex_.
bool PostgresDatabase::fails_at_once() const {
  return failure_.has_value() && (trying_again_ || clock_.steady() < retry_at_);
}

/// Under mutex_. Those whose server went away meanwhile are closed, so that its restart costs no
/// call an error.
std::unique_ptr<PostgresConnection> PostgresDatabase::take_idle() {
  while (!idle_.empty()) {
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->is_reusable()) return connection;
  }
  return nullptr;
}

void PostgresDatabase::take_back(std::unique_ptr<PostgresConnection> connection, bool tried_again) {
  {
    const std::lock_guard lock(mutex_);
    --borrowed_;
    if (tried_again) trying_again_ = false;
    if (connection != nullptr && connection->is_reusable()) {
      idle_.push_back(std::move(connection));
    } else if (connection != nullptr) {
      // What broke this one, a cut line or a restart, has most likely broken the others.
      idle_.clear();
    }
  }
  changed_.notify_all();
}

Result<std::unique_ptr<PostgresConnection>> PostgresDatabase::connect() const {
  STRATA_ASSIGN_OR_RETURN(auto connection, PostgresConnection::connect(url_, timeouts_, clock_));
  STRATA_RETURN_IF_ERROR(bring_up_to_date(*connection));
  return connection;
}

Result<void> PostgresDatabase::bring_up_to_date(PostgresConnection& connection) const {
  const std::uint64_t wanted = schema_.size();
  STRATA_ASSIGN_OR_RETURN(std::uint64_t version, schema_version(connection));
  while (version < wanted) {
    STRATA_RETURN_IF_ERROR(step_up(connection, version, schema_[version]));
    STRATA_ASSIGN_OR_RETURN(version, schema_version(connection));
  }
  return check_schema_version(version, wanted);
}

}  // namespace strata::catalog
