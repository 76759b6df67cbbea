#include "catalog/postgres_ontology.h"

#include <utility>

#include "catalog/columns.h"
#include "catalog/ontology_conflict.h"
#include "catalog/postgres_now.h"

namespace strata::catalog {
namespace {

/// How often a version that is in the way when we insert may be gone when we look at it.
constexpr int kPutTries = 5;

std::uint64_t first_number(const PostgresRow& row) { return row.number(0).value_or(0); }

}  // namespace

Result<bool> PostgresOntology::put_pending(const VersionRow& row) {
  for (int tries = 0; tries < kPutTries; ++tries) {
    STRATA_ASSIGN_OR_RETURN(const bool put, insert(row));
    if (put) return true;
    STRATA_ASSIGN_OR_RETURN(const auto in_the_way, in_the_way_of(row.version));
    if (!in_the_way) continue;
    if (*in_the_way == row.version) return false;
    return other_is_pending(row.version, *in_the_way);
  }
  return make_error(Code::kBusy, "Versions of this ontology come and go too fast; try again.");
}

Result<bool> PostgresOntology::insert(const VersionRow& row) {
  STRATA_ASSIGN_OR_RETURN(
      const auto inserted,
      database_.read<std::uint64_t>(
          "INSERT INTO strata.ontology_versions (kb, " STRATA_VERSION_COLUMNS
          ") VALUES ($1, $2, 'pending', $3, $4, $5, " STRATA_POSTGRES_NOW
          ") ON CONFLICT DO NOTHING RETURNING 1",
          {kb_, std::optional(row.version), row.model_sha256, row.content, row.job}, first_number));
  return !inserted.empty();
}

Result<std::optional<std::uint64_t>> PostgresOntology::in_the_way_of(std::uint64_t version) {
  STRATA_ASSIGN_OR_RETURN(const auto versions,
                          database_.read<std::uint64_t>(
                              R"sql(SELECT version FROM strata.ontology_versions
                WHERE kb = $1 AND (version = $2::bigint OR state = 'pending')
                ORDER BY version = $2::bigint DESC)sql",
                              {kb_, std::optional(version)}, first_number));
  return versions.empty() ? std::nullopt : std::optional(versions.front());
}

Result<void> PostgresOntology::activate(std::uint64_t version) {
  const std::optional number(version);
  return database_.transaction([&](PostgresConnection& session) -> Result<void> {
    // Locked, so that of two that activate it at once the later one finds it active, and who drops
    // it comes before or after all of this.
    STRATA_ASSIGN_OR_RETURN(
        const auto answer,
        session.run("SELECT state FROM strata.ontology_versions WHERE kb = $1 AND version = $2 "
                    "FOR UPDATE",
                    {kb_, number}));
    const std::string state = answer.rows() == 1 ? answer.row(0).text(0) : "";
    if (state == "active") return {};
    if (state != "pending") return not_pending(version);
    // First the old one: the index looks at each row as it is written.
    STRATA_RETURN_IF_ERROR(
        session.run("UPDATE strata.ontology_versions SET state = 'retired' "
                    "WHERE kb = $1 AND state = 'active'",
                    {kb_}));
    STRATA_RETURN_IF_ERROR(
        session.run("UPDATE strata.ontology_versions SET state = 'active' "
                    "WHERE kb = $1 AND version = $2",
                    {kb_, number}));
    return {};
  });
}

Result<void> PostgresOntology::refresh(std::uint64_t version, const std::string& content) {
  STRATA_ASSIGN_OR_RETURN(const auto refreshed,
                          database_.read<std::uint64_t>(
                              R"sql(UPDATE strata.ontology_versions SET content = $3
                WHERE kb = $1 AND version = $2 AND state = 'active' RETURNING 1)sql",
                              {kb_, std::optional(version), content}, first_number));
  if (refreshed.empty()) return not_active(version);
  return {};
}

Result<void> PostgresOntology::drop_pending(std::uint64_t version) {
  return database_.write(
      "DELETE FROM strata.ontology_versions WHERE kb = $1 AND version = $2 AND state = 'pending'",
      {kb_, std::optional(version)});
}

Result<std::vector<VersionRow>> PostgresOntology::list() {
  return database_.with_session([this](PostgresConnection& session) { return all(session); });
}

Result<std::optional<VersionRow>> PostgresOntology::active() { return in_state("active"); }

Result<std::optional<VersionRow>> PostgresOntology::pending() { return in_state("pending"); }

Result<std::optional<VersionRow>> PostgresOntology::in_state(std::string_view state) {
  STRATA_ASSIGN_OR_RETURN(
      auto rows,
      database_.read<VersionRow>("SELECT " STRATA_VERSION_COLUMNS " FROM strata.ontology_versions "
                                 "WHERE kb = $1 AND state = $2",
                                 {kb_, state}, version_of<PostgresRow>));
  if (rows.empty()) return std::nullopt;
  return std::move(rows.front());
}

Result<std::vector<VersionRow>> PostgresOntology::all(PostgresConnection& session) const {
  STRATA_ASSIGN_OR_RETURN(
      const auto answer,
      session.run("SELECT " STRATA_VERSION_COLUMNS
                  " FROM strata.ontology_versions WHERE kb = $1 ORDER BY version DESC",
                  {kb_}));
  return rows_of<VersionRow>(answer, version_of<PostgresRow>);
}

Result<void> PostgresOntology::replace_all(PostgresConnection& session,
                                           const std::vector<VersionRow>& versions) const {
  STRATA_RETURN_IF_ERROR(session.run("DELETE FROM strata.ontology_versions WHERE kb = $1", {kb_}));
  for (const VersionRow& row : versions) {
    STRATA_RETURN_IF_ERROR(
        session.run("INSERT INTO strata.ontology_versions (kb, " STRATA_VERSION_COLUMNS
                    ") VALUES ($1, $2, $3, $4, $5, $6, $7)",
                    {kb_, std::optional(row.version), row.state, row.model_sha256, row.content,
                     row.job, std::optional(to_micros(row.created))}));
  }
  return {};
}

}  // namespace strata::catalog
