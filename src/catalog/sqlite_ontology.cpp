#include "catalog/sqlite_ontology.h"

#include <utility>

#include "catalog/columns.h"
#include "catalog/ontology_conflict.h"
#include "catalog/sqlite_now.h"

namespace strata::catalog {
namespace {

std::uint64_t first_number(const SqliteStatement& row) { return row.number(0).value_or(0); }

}  // namespace

Result<bool> SqliteOntology::put_pending(const VersionRow& row) {
  bool put = false;
  const auto done = database_.transaction([&](SqliteSession& session) -> Result<void> {
    STRATA_ASSIGN_OR_RETURN(
        const auto in_the_way,
        session.read<std::uint64_t>(
            R"sql(SELECT version FROM ontology_versions WHERE version = ?1 OR state = 'pending'
                  ORDER BY version = ?1 DESC)sql",
            [&row](SqliteStatement& statement) { statement.bind(1, std::optional(row.version)); },
            first_number));
    if (!in_the_way.empty()) {
      if (in_the_way.front() == row.version) return {};
      return other_is_pending(row.version, in_the_way.front());
    }
    put = true;
    return session.write("INSERT INTO ontology_versions (" STRATA_VERSION_COLUMNS
                         ") VALUES (?1, 'pending', ?2, ?3, ?4, " STRATA_SQLITE_NOW ")",
                         [&row](SqliteStatement& statement) {
                           statement.bind(1, std::optional(row.version));
                           statement.bind(2, row.model_sha256);
                           statement.bind(3, row.content);
                           statement.bind(4, row.job);
                         });
  });
  if (!done) return done.error();
  return put;
}

Result<void> SqliteOntology::activate(std::uint64_t version) {
  const auto bind = [version](SqliteStatement& statement) {
    statement.bind(1, std::optional(version));
  };
  return database_.transaction([&](SqliteSession& session) -> Result<void> {
    STRATA_ASSIGN_OR_RETURN(
        const auto states,
        session.read<std::string>("SELECT state FROM ontology_versions WHERE version = ?1", bind,
                                  [](const SqliteStatement& row) { return row.text(0); }));
    if (states == std::vector<std::string>{"active"}) return {};
    if (states != std::vector<std::string>{"pending"}) return not_pending(version);
    // First the old one: the index looks at each row as it is written.
    STRATA_RETURN_IF_ERROR(session.run_script(
        "UPDATE ontology_versions SET state = 'retired' WHERE state = 'active'"));
    return session.write("UPDATE ontology_versions SET state = 'active' WHERE version = ?1", bind);
  });
}

Result<void> SqliteOntology::refresh(std::uint64_t version, const std::string& content) {
  STRATA_ASSIGN_OR_RETURN(const auto refreshed, database_.read<std::uint64_t>(
                                                    R"sql(UPDATE ontology_versions SET content = ?2
                WHERE version = ?1 AND state = 'active' RETURNING 1)sql",
                                                    [&](SqliteStatement& statement) {
                                                      statement.bind(1, std::optional(version));
                                                      statement.bind(2, content);
                                                    },
                                                    first_number));
  if (refreshed.empty()) return not_active(version);
  return {};
}

Result<void> SqliteOntology::drop_pending(std::uint64_t version) {
  return database_.write(
      "DELETE FROM ontology_versions WHERE version = ?1 AND state = 'pending'",
      [version](SqliteStatement& statement) { statement.bind(1, std::optional(version)); });
}

Result<std::vector<VersionRow>> SqliteOntology::list() { return database_.with_session(all); }

Result<std::optional<VersionRow>> SqliteOntology::active() { return in_state("active"); }

Result<std::optional<VersionRow>> SqliteOntology::pending() { return in_state("pending"); }

Result<std::optional<VersionRow>> SqliteOntology::in_state(std::string_view state) {
  STRATA_ASSIGN_OR_RETURN(
      auto rows, database_.read<VersionRow>(
                     "SELECT " STRATA_VERSION_COLUMNS " FROM ontology_versions WHERE state = ?1",
                     [state](SqliteStatement& statement) { statement.bind(1, state); },
                     version_of<SqliteStatement>));
  if (rows.empty()) return std::nullopt;
  return std::move(rows.front());
}

Result<std::vector<VersionRow>> SqliteOntology::all(SqliteSession& session) {
  return session.read<VersionRow>("SELECT " STRATA_VERSION_COLUMNS
                                  " FROM ontology_versions ORDER BY version DESC",
                                  version_of<SqliteStatement>);
}

Result<void> SqliteOntology::replace_all(SqliteSession& session,
                                         const std::vector<VersionRow>& versions) {
  STRATA_RETURN_IF_ERROR(session.run_script("DELETE FROM ontology_versions"));
  for (const VersionRow& row : versions) {
    STRATA_RETURN_IF_ERROR(session.write("INSERT INTO ontology_versions (" STRATA_VERSION_COLUMNS
                                         ") VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                                         [&row](SqliteStatement& statement) {
                                           statement.bind(1, std::optional(row.version));
                                           statement.bind(2, row.state);
                                           statement.bind(3, row.model_sha256);
                                           statement.bind(4, row.content);
                                           statement.bind(5, row.job);
                                           statement.bind(6, std::optional(to_micros(row.created)));
                                         }));
  }
  return {};
}

}  // namespace strata::catalog
