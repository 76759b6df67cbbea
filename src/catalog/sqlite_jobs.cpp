#include "catalog/sqlite_jobs.h"

#include "catalog/columns.h"
#include "catalog/sqlite_now.h"

namespace strata::catalog {
namespace {

constexpr SqlText kUnderWay =
    "SELECT " STRATA_JOB_COLUMNS " FROM jobs WHERE state IN ('queued', 'running')";

std::uint64_t first_number(const SqliteStatement& row) { return row.number(0).value_or(0); }

}  // namespace

Result<std::optional<JobRow>> SqliteJobs::start(const NewJob& job) {
  std::optional<JobRow> in_the_way;
  const auto started = database_.transaction([&](SqliteSession& session) -> Result<void> {
    STRATA_ASSIGN_OR_RETURN(
        const auto under_way,
        session.read<JobRow>(kUnderWay, [](SqliteStatement&) {}, job_of<SqliteStatement>));
    if (!under_way.empty()) {
      // Our own: the call before this one did happen.
      if (under_way.front().id != job.id) in_the_way = under_way.front();
      return {};
    }
    // Never before the one that was there: the newest is the newest, also if the clock went back.
    return session.write(
        R"sql(INSERT INTO jobs (id, kind, subject, state, step, progress, owner,
                                cancel_requested, created, heartbeat)
              VALUES (?1, ?2, ?3, 'queued', '', 0, ?4, 0,
                      max()sql" STRATA_SQLITE_NOW R"sql(,
                          coalesce((SELECT max(created) + 1 FROM jobs), 0)),
                      )sql" STRATA_SQLITE_NOW ")",
        [&job](SqliteStatement& statement) {
          statement.bind(1, job.id);
          statement.bind(2, job.kind);
          statement.bind(3, job.subject);
          statement.bind(4, job.owner);
        });
  });
  if (!started) return started.error();
  return in_the_way;
}

Result<JobHold> SqliteJobs::beat(const JobBeat& beat) {
  STRATA_ASSIGN_OR_RETURN(
      const auto held,
      database_.read<std::uint64_t>(
          "UPDATE jobs SET state = 'running', step = ?3, progress = ?4, heartbeat "
          "= " STRATA_SQLITE_NOW ", started = coalesce(started, " STRATA_SQLITE_NOW ") "
          "WHERE id = ?1 AND owner = ?2 AND state IN ('queued', 'running') "
          "RETURNING cancel_requested",
          [&beat](SqliteStatement& statement) {
            statement.bind(1, beat.id);
            statement.bind(2, beat.owner);
            statement.bind(3, beat.step);
            statement.bind(4, std::optional(beat.progress));
          },
          first_number));
  return hold_of(held);
}

Result<bool> SqliteJobs::end(const JobEnd& end) {
  STRATA_ASSIGN_OR_RETURN(
      const auto ended,
      database_.read<std::uint64_t>(
          "UPDATE jobs SET state = ?3, step = ?4, progress = ?5, result = nullif(?6, ''), "
          "reason = nullif(?7, ''), ended = " STRATA_SQLITE_NOW " "
          "WHERE id = ?1 AND owner = ?2 AND state IN ('queued', 'running') RETURNING 1",
          [&end](SqliteStatement& statement) {
            statement.bind(1, end.id);
            statement.bind(2, end.owner);
            statement.bind(3, end.state);
            statement.bind(4, end.step);
            statement.bind(5, std::optional(end.progress));
            statement.bind(6, end.result);
            statement.bind(7, end.reason);
          },
          first_number));
  return !ended.empty();
}

Result<bool> SqliteJobs::request_cancel(const std::string& id) {
  STRATA_ASSIGN_OR_RETURN(
      const auto asked,
      database_.read<std::uint64_t>(
          R"sql(UPDATE jobs SET cancel_requested = 1
                WHERE id = ?1 AND state IN ('queued', 'running') RETURNING 1)sql",
          [&id](SqliteStatement& statement) { statement.bind(1, id); }, first_number));
  return !asked.empty();
}

Result<std::optional<JobRow>> SqliteJobs::job(const std::string& id) {
  STRATA_ASSIGN_OR_RETURN(
      const auto rows,
      database_.read<JobRow>(
          "SELECT " STRATA_JOB_COLUMNS " FROM jobs WHERE id = ?1",
          [&id](SqliteStatement& statement) { statement.bind(1, id); }, job_of<SqliteStatement>));
  return rows.empty() ? std::nullopt : std::optional(rows.front());
}

Result<std::vector<JobRow>> SqliteJobs::list(const JobPage& page) {
  return database_.read<JobRow>(
      "SELECT " STRATA_JOB_COLUMNS
      " FROM jobs "
      "WHERE ?1 = '' OR created < (SELECT created FROM jobs WHERE id = ?1) "
      "ORDER BY created DESC LIMIT ?2",
      [&page](SqliteStatement& statement) {
        statement.bind(1, page.before);
        statement.bind(2, std::optional<std::uint64_t>(page.limit));
      },
      job_of<SqliteStatement>);
}

Result<void> SqliteJobs::fail_abandoned(std::chrono::seconds lease) {
  return database_.write("UPDATE jobs SET state = 'failed', reason = ?1, ended = " STRATA_SQLITE_NOW
                         " "
                         "WHERE state IN ('queued', 'running') "
                         "AND abs(heartbeat - " STRATA_SQLITE_NOW ") > ?2",
                         [lease](SqliteStatement& statement) {
                           statement.bind(1, kAbandonedReason);
                           statement.bind(2, std::optional(to_micros(lease)));
                         });
}

Result<std::vector<JobRow>> SqliteJobs::all(SqliteSession& session) {
  return session.read<JobRow>(
      "SELECT " STRATA_JOB_COLUMNS " FROM jobs ORDER BY created DESC", [](SqliteStatement&) {},
      job_of<SqliteStatement>);
}

Result<void> SqliteJobs::replace_all(SqliteSession& session, const std::vector<JobRow>& jobs) {
  STRATA_RETURN_IF_ERROR(session.run_script("DELETE FROM jobs"));
  for (const JobRow& job : jobs) {
    STRATA_RETURN_IF_ERROR(session.write(
        "INSERT INTO jobs (" STRATA_JOB_COLUMNS
        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, "
        "nullif(?8, ''), nullif(?9, ''), ?10, ?11, ?12, ?13, ?14)",
        [&job](SqliteStatement& statement) {
          statement.bind(1, job.id);
          statement.bind(2, job.kind);
          statement.bind(3, job.subject);
          statement.bind(4, job.state);
          statement.bind(5, job.step);
          statement.bind(6, std::optional(job.progress));
          statement.bind(7, job.owner);
          statement.bind(8, job.result);
          statement.bind(9, job.reason);
          statement.bind(10, std::optional<std::uint64_t>(job.cancel_requested ? 1 : 0));
          statement.bind(11, std::optional(to_micros(job.created)));
          statement.bind(12, to_micros(job.started));
          statement.bind(13, std::optional(to_micros(job.heartbeat)));
          statement.bind(14, to_micros(job.ended));
        }));
  }
  return {};
}

}  // namespace strata::catalog
