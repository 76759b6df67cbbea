#pragma once

#include <string>
#include <utility>

#include "catalog/jobs.h"
#include "catalog/postgres_database.h"

namespace strata::catalog {

/// Private to this folder. `database` outlives it.
class PostgresJobs final : public Jobs {
 public:
  PostgresJobs(PostgresDatabase& database, std::string kb_uuid)
      : database_(database), kb_(std::move(kb_uuid)) {}

  Result<std::optional<JobRow>> start(const NewJob& job) override;
  Result<JobHold> beat(const JobBeat& beat) override;
  Result<bool> end(const JobEnd& end) override;
  Result<bool> request_cancel(const std::string& id) override;
  Result<std::optional<JobRow>> job(const std::string& id) override;
  Result<std::vector<JobRow>> list(const JobPage& page) override;
  Result<void> fail_abandoned(std::chrono::seconds lease) override;

  /// Parts of a transaction over the kb's whole catalog.
  Result<std::vector<JobRow>> all(PostgresConnection& session) const;
  Result<void> replace_all(PostgresConnection& session, const std::vector<JobRow>& jobs) const;

 private:
  Result<bool> insert(const NewJob& job);
  Result<std::optional<JobRow>> under_way();

  PostgresDatabase& database_;
  const std::string kb_;
};

}  // namespace strata::catalog
