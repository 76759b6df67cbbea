#pragma once

#include "catalog/jobs.h"
#include "catalog/sqlite_database.h"

namespace strata::catalog {

/// Private to this folder. `database` outlives it.
class SqliteJobs final : public Jobs {
 public:
  explicit SqliteJobs(SqliteDatabase& database) : database_(database) {}

  Result<std::optional<JobRow>> start(const NewJob& job) override;
  Result<JobHold> beat(const JobBeat& beat) override;
  Result<bool> end(const JobEnd& end) override;
  Result<bool> request_cancel(const std::string& id) override;
  Result<std::optional<JobRow>> job(const std::string& id) override;
  Result<std::vector<JobRow>> list(const JobPage& page) override;
  Result<void> fail_abandoned(std::chrono::seconds lease) override;

  /// Parts of a transaction over the whole catalog.
  static Result<std::vector<JobRow>> all(SqliteSession& session);
  static Result<void> replace_all(SqliteSession& session, const std::vector<JobRow>& jobs);

 private:
  SqliteDatabase& database_;
};

}  // namespace strata::catalog
