#include "catalog/postgres_jobs.h"

#include "catalog/columns.h"
#include "catalog/postgres_now.h"

namespace strata::catalog {
namespace {

/// How often a job that is in the way when we insert may have ended when we look at it.
constexpr int kStartTries = 5;

std::uint64_t first_number(const PostgresRow& row) { return row.number(0).value_or(0); }

}  // namespace

Result<std::optional<JobRow>> PostgresJobs::start(const NewJob& job) {
  for (int tries = 0; tries < kStartTries; ++tries) {
    STRATA_ASSIGN_OR_RETURN(const bool started, insert(job));
    if (started) return std::nullopt;
    STRATA_ASSIGN_OR_RETURN(auto in_the_way, under_way());
    if (!in_the_way) continue;
    // Our own: the call before this one did happen.
    if (in_the_way->id == job.id) return std::nullopt;
    return in_the_way;
  }
  return make_error(Code::kBusy, "Jobs of this knowledgebase come and go too fast; try again.");
}

Result<bool> PostgresJobs::insert(const NewJob& job) {
  // Never before the one that was there: the newest is the newest, also if the clock went back.
  STRATA_ASSIGN_OR_RETURN(
      const auto inserted,
      database_.read<std::uint64_t>(
          R"sql(INSERT INTO strata.jobs (kb, id, kind, subject, state, step, progress, owner,
                                         cancel_requested, created, heartbeat)
                VALUES ($1, $2, $3, $4, 'queued', '', 0, $5, 0,
                        greatest()sql" STRATA_POSTGRES_NOW R"sql(,
                                 (SELECT max(created) + 1 FROM strata.jobs WHERE kb = $1)),
                        )sql" STRATA_POSTGRES_NOW ") ON CONFLICT DO NOTHING RETURNING 1",
          {kb_, job.id, job.kind, job.subject, job.owner}, first_number));
  return !inserted.empty();
}

Result<std::optional<JobRow>> PostgresJobs::under_way() {
  STRATA_ASSIGN_OR_RETURN(const auto rows,
                          database_.read<JobRow>("SELECT " STRATA_JOB_COLUMNS " FROM strata.jobs "
                                                 "WHERE kb = $1 AND state IN ('queued', 'running')",
                                                 {kb_}, job_of<PostgresRow>));
  return rows.empty() ? std::nullopt : std::optional(rows.front());
}

Result<JobHold> PostgresJobs::beat(const JobBeat& beat) {
  STRATA_ASSIGN_OR_RETURN(
      const auto held,
      database_.read<std::uint64_t>(
          "UPDATE strata.jobs SET state = 'running', step = $4, progress = $5, heartbeat "
          "= " STRATA_POSTGRES_NOW ", started = coalesce(started, " STRATA_POSTGRES_NOW ") "
          "WHERE kb = $1 AND id = $2 AND owner = $3 AND state IN ('queued', 'running') "
          "RETURNING cancel_requested",
          {kb_, beat.id, beat.owner, beat.step, std::optional(beat.progress)}, first_number));
  return hold_of(held);
}

Result<bool> PostgresJobs::end(const JobEnd& end) {
  STRATA_ASSIGN_OR_RETURN(
      const auto ended,
      database_.read<std::uint64_t>(
          "UPDATE strata.jobs SET state = $4, step = $5, progress = $6, result = nullif($7, ''), "
          "reason = nullif($8, ''), ended = " STRATA_POSTGRES_NOW " "
          "WHERE kb = $1 AND id = $2 AND owner = $3 AND state IN ('queued', 'running') RETURNING 1",
          {kb_, end.id, end.owner, end.state, end.step, std::optional(end.progress), end.result,
           end.reason},
          first_number));
  return !ended.empty();
}

Result<bool> PostgresJobs::request_cancel(const std::string& id) {
  STRATA_ASSIGN_OR_RETURN(const auto asked, database_.read<std::uint64_t>(
                                                R"sql(UPDATE strata.jobs SET cancel_requested = 1
                WHERE kb = $1 AND id = $2 AND state IN ('queued', 'running') RETURNING 1)sql",
                                                {kb_, id}, first_number));
  return !asked.empty();
}

Result<std::optional<JobRow>> PostgresJobs::job(const std::string& id) {
  STRATA_ASSIGN_OR_RETURN(const auto rows,
                          database_.read<JobRow>("SELECT " STRATA_JOB_COLUMNS
                                                 " FROM strata.jobs WHERE kb = $1 AND id = $2",
                                                 {kb_, id}, job_of<PostgresRow>));
  return rows.empty() ? std::nullopt : std::optional(rows.front());
}

Result<std::vector<JobRow>> PostgresJobs::list(const JobPage& page) {
  return database_.read<JobRow>(
      "SELECT " STRATA_JOB_COLUMNS
      " FROM strata.jobs WHERE kb = $1 AND ($2::text = '' OR created < "
      "(SELECT created FROM strata.jobs WHERE kb = $1 AND id = $2::text)) "
      "ORDER BY created DESC LIMIT $3::bigint",
      {kb_, page.before, std::optional<std::uint64_t>(page.limit)}, job_of<PostgresRow>);
}

Result<void> PostgresJobs::fail_abandoned(std::chrono::seconds lease) {
  return database_.write(
      "UPDATE strata.jobs SET state = 'failed', reason = $2, ended = " STRATA_POSTGRES_NOW
      " "
      "WHERE kb = $1 AND state IN ('queued', 'running') "
      "AND abs(heartbeat - " STRATA_POSTGRES_NOW ") > $3::bigint",
      {kb_, kAbandonedReason, std::optional(to_micros(lease))});
}

Result<std::vector<JobRow>> PostgresJobs::all(PostgresConnection& session) const {
  STRATA_ASSIGN_OR_RETURN(const auto answer,
                          session.run("SELECT " STRATA_JOB_COLUMNS
                                      " FROM strata.jobs WHERE kb = $1 ORDER BY created DESC",
                                      {kb_}));
  return rows_of<JobRow>(answer, job_of<PostgresRow>);
}

Result<void> PostgresJobs::replace_all(PostgresConnection& session,
                                       const std::vector<JobRow>& jobs) const {
  STRATA_RETURN_IF_ERROR(session.run("DELETE FROM strata.jobs WHERE kb = $1", {kb_}));
  for (const JobRow& job : jobs) {
    STRATA_RETURN_IF_ERROR(session.run(
        "INSERT INTO strata.jobs (kb, " STRATA_JOB_COLUMNS
        ") VALUES ($15, $1, $2, $3, $4, $5, "
        "$6, $7, nullif($8, ''), nullif($9, ''), $10, $11, $12, $13, $14)",
        {job.id, job.kind, job.subject, job.state, job.step, std::optional(job.progress), job.owner,
         job.result, job.reason, std::optional<std::uint64_t>(job.cancel_requested ? 1 : 0),
         std::optional(to_micros(job.created)), to_micros(job.started),
         std::optional(to_micros(job.heartbeat)), to_micros(job.ended), kb_}));
  }
  return {};
}

}  // namespace strata::catalog
