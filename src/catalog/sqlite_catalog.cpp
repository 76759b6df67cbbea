#include "catalog/sqlite_catalog.h"

#include <array>
#include <utility>

#include "catalog/columns.h"
#include "catalog/sqlite_database.h"
#include "catalog/sqlite_jobs.h"
#include "catalog/sqlite_now.h"
#include "catalog/sqlite_ontology.h"

namespace strata::catalog {
namespace {

// The types and clauses are those that SQLite and PostgreSQL both read, so that one schema serves
// both. Never change a script that was released: add the next.
constexpr std::array<SqlText, 3> kKbSchema = {R"sql(
  CREATE TABLE _strata_manifest (
    "table" TEXT NOT NULL PRIMARY KEY,
    source TEXT NOT NULL,
    "rows" BIGINT,
    state TEXT NOT NULL CHECK (state IN ('deferred', 'ready', 'error'))
  );
  CREATE TABLE receivers (
    stream TEXT NOT NULL PRIMARY KEY,
    settings TEXT NOT NULL
  );
  PRAGMA user_version = 1;
)sql",
                                              R"sql(
  -- Of a kb at most one is under way.
  CREATE TABLE jobs (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    step TEXT NOT NULL,
    progress BIGINT NOT NULL CHECK (progress BETWEEN 0 AND 1000),
    owner TEXT NOT NULL,
    result TEXT,
    reason TEXT,
    cancel_requested BIGINT NOT NULL,
    created BIGINT NOT NULL,
    started BIGINT,
    heartbeat BIGINT NOT NULL,
    ended BIGINT
  );
  CREATE INDEX jobs_newest ON jobs (created);
  CREATE UNIQUE INDEX jobs_one_under_way ON jobs ((1)) WHERE state IN ('queued', 'running');
  PRAGMA user_version = 2;
)sql",
                                              R"sql(
  -- Of a kb at most one is pending and one active.
  CREATE TABLE ontology_versions (
    version BIGINT NOT NULL PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('pending', 'active', 'retired')),
    model_sha256 TEXT NOT NULL,
    content TEXT NOT NULL,
    job TEXT NOT NULL,
    created BIGINT NOT NULL
  );
  CREATE UNIQUE INDEX ontology_versions_one_pending ON ontology_versions ((1))
    WHERE state = 'pending';
  CREATE UNIQUE INDEX ontology_versions_one_active ON ontology_versions ((1))
    WHERE state = 'active';
  PRAGMA user_version = 3;
)sql"};

constexpr std::array<SqlText, 2> kRootSchema = {R"sql(
  CREATE TABLE knowledgebases (
    id TEXT NOT NULL PRIMARY KEY,
    uuid TEXT NOT NULL,
    backend TEXT NOT NULL,
    created_at TEXT NOT NULL
  );
  CREATE TABLE nodes (
    process TEXT NOT NULL PRIMARY KEY,
    node TEXT NOT NULL,
    started_at TEXT NOT NULL
  );
  PRAGMA user_version = 1;
)sql",
                                                R"sql(
  ALTER TABLE nodes ADD COLUMN version TEXT NOT NULL DEFAULT '';
  ALTER TABLE nodes ADD COLUMN heartbeat BIGINT NOT NULL DEFAULT 0;
  PRAGMA user_version = 2;
)sql"};

Result<void> put(SqliteSession& session, const ManifestRow& row) {
  return session.write(
      R"sql(INSERT INTO _strata_manifest ("table", source, "rows", state)
            VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT ("table") DO UPDATE
            SET source = excluded.source, "rows" = excluded."rows", state = excluded.state)sql",
      [&row](SqliteStatement& statement) {
        statement.bind(1, row.table);
        statement.bind(2, row.source);
        statement.bind(3, row.rows);
        statement.bind(4, row.state);
      });
}

Result<void> put(SqliteSession& session, const ReceiverRow& row) {
  return session.write(
      R"sql(INSERT INTO receivers (stream, settings) VALUES (?1, ?2)
            ON CONFLICT (stream) DO UPDATE SET settings = excluded.settings)sql",
      [&row](SqliteStatement& statement) {
        statement.bind(1, row.stream);
        statement.bind(2, row.settings_json);
      });
}

Result<std::vector<ManifestRow>> manifest_of(SqliteSession& session) {
  return session.read<ManifestRow>(
      R"sql(SELECT "table", source, "rows", state FROM _strata_manifest ORDER BY "table")sql",
      [](const SqliteStatement& row) {
        return ManifestRow{row.text(0), row.text(1), row.number(2), row.text(3)};
      });
}

Result<std::vector<ReceiverRow>> receivers_of(SqliteSession& session) {
  return session.read<ReceiverRow>(
      "SELECT stream, settings FROM receivers ORDER BY stream",
      [](const SqliteStatement& row) { return ReceiverRow{row.text(0), row.text(1)}; });
}

class SqliteCatalog final : public Catalog {
 public:
  SqliteCatalog(const std::string& path, std::chrono::milliseconds busy_wait)
      : database_({path, kKbSchema, busy_wait}), jobs_(database_), ontology_(database_) {}

  Result<void> open() { return database_.open(); }

  Result<void> put_manifest(const ManifestRow& row) override {
    return database_.with_session([&row](SqliteSession& session) { return put(session, row); });
  }

  Result<std::vector<ManifestRow>> manifest() override {
    return database_.with_session(manifest_of);
  }

  Result<void> put_receiver(const ReceiverRow& row) override {
    return database_.with_session([&row](SqliteSession& session) { return put(session, row); });
  }

  Result<std::vector<ReceiverRow>> receivers() override {
    return database_.with_session(receivers_of);
  }

  Result<void> remove_stream(const std::string& stream) override {
    const auto bind = [&stream](SqliteStatement& statement) { statement.bind(1, stream); };
    return database_.transaction([&bind](SqliteSession& session) -> Result<void> {
      STRATA_RETURN_IF_ERROR(
          session.write("DELETE FROM _strata_manifest WHERE source = 'stream:' || ?1", bind));
      return session.write("DELETE FROM receivers WHERE stream = ?1", bind);
    });
  }

  Jobs& jobs() override { return jobs_; }
  OntologyVersions& ontology() override { return ontology_; }

  Result<CatalogContent> content() override {
    CatalogContent content;
    const auto read = database_.transaction([&content](SqliteSession& session) -> Result<void> {
      STRATA_ASSIGN_OR_RETURN(content.manifest, manifest_of(session));
      STRATA_ASSIGN_OR_RETURN(content.receivers, receivers_of(session));
      STRATA_ASSIGN_OR_RETURN(content.jobs, SqliteJobs::all(session));
      STRATA_ASSIGN_OR_RETURN(content.versions, SqliteOntology::all(session));
      return {};
    });
    if (!read) return read.error();
    return content;
  }

  Result<void> replace_content(const CatalogContent& content) override {
    return database_.transaction([&content](SqliteSession& session) -> Result<void> {
      STRATA_RETURN_IF_ERROR(
          session.run_script("DELETE FROM _strata_manifest; DELETE FROM receivers"));
      for (const ManifestRow& row : content.manifest) STRATA_RETURN_IF_ERROR(put(session, row));
      for (const ReceiverRow& row : content.receivers) STRATA_RETURN_IF_ERROR(put(session, row));
      STRATA_RETURN_IF_ERROR(SqliteJobs::replace_all(session, content.jobs));
      return SqliteOntology::replace_all(session, content.versions);
    });
  }

 private:
  SqliteDatabase database_;
  SqliteJobs jobs_;
  SqliteOntology ontology_;
};

class SqliteRootCatalog final : public RootCatalog {
 public:
  SqliteRootCatalog(const std::string& path, std::chrono::milliseconds busy_wait)
      : database_({path, kRootSchema, busy_wait}) {}

  Result<void> open() { return database_.open(); }

  Result<void> put_knowledgebase(const KnowledgebaseRow& row) override {
    return database_.write(
        R"sql(INSERT INTO knowledgebases (id, uuid, backend, created_at)
              VALUES (?1, ?2, ?3, ?4)
              ON CONFLICT (id) DO UPDATE SET uuid = excluded.uuid,
                backend = excluded.backend, created_at = excluded.created_at)sql",
        [&row](SqliteStatement& statement) {
          statement.bind(1, row.id);
          statement.bind(2, row.uuid);
          statement.bind(3, row.backend);
          statement.bind(4, row.created_at);
        });
  }

  Result<std::vector<KnowledgebaseRow>> knowledgebases() override {
    return database_.read<KnowledgebaseRow>(
        "SELECT id, uuid, backend, created_at FROM knowledgebases ORDER BY id",
        [](const SqliteStatement& row) {
          return KnowledgebaseRow{row.text(0), row.text(1), row.text(2), row.text(3)};
        });
  }

  Result<void> remove_knowledgebase(const std::string& id) override {
    return database_.write("DELETE FROM knowledgebases WHERE id = ?1",
                           [&id](SqliteStatement& statement) { statement.bind(1, id); });
  }

  Result<void> put_node(const NodeRow& row) override {
    return database_.transaction([&row](SqliteSession& session) -> Result<void> {
      STRATA_RETURN_IF_ERROR(
          session.write("DELETE FROM nodes WHERE heartbeat < " STRATA_SQLITE_NOW " - ?1",
                        [](SqliteStatement& statement) {
                          statement.bind(1, std::optional(to_micros(kNodeRowKept)));
                        }));
      return session.write(
          "INSERT INTO nodes (process, node, started_at, version, heartbeat) "
          "VALUES (?1, ?2, ?3, ?4, " STRATA_SQLITE_NOW
          ") "
          "ON CONFLICT (process) DO UPDATE SET node = excluded.node, "
          "started_at = excluded.started_at, version = excluded.version, "
          "heartbeat = excluded.heartbeat",
          [&row](SqliteStatement& statement) {
            statement.bind(1, row.process);
            statement.bind(2, row.node);
            statement.bind(3, row.started_at);
            statement.bind(4, row.version);
          });
    });
  }

  Result<std::vector<NodeSeen>> nodes() override {
    return database_.read<NodeSeen>(
        "SELECT node, process, started_at, version, heartbeat, " STRATA_SQLITE_NOW
        " FROM nodes ORDER BY process",
        node_seen_of<SqliteStatement>);
  }

  Result<WallTime> now() override {
    STRATA_ASSIGN_OR_RETURN(
        const auto times,
        database_.read<WallTime>("SELECT " STRATA_SQLITE_NOW, [](const SqliteStatement& row) {
          return from_micros(row.number(0).value_or(0));
        }));
    return times.at(0);
  }

 private:
  SqliteDatabase database_;
};

}  // namespace

Result<std::unique_ptr<Catalog>> open_sqlite_catalog(const std::string& path,
                                                     std::chrono::milliseconds busy_wait) {
  auto catalog = std::make_unique<SqliteCatalog>(path, busy_wait);
  STRATA_RETURN_IF_ERROR(catalog->open());
  return catalog;
}

Result<std::unique_ptr<RootCatalog>> open_sqlite_root_catalog(const std::string& path,
                                                              std::chrono::milliseconds busy_wait) {
  auto catalog = std::make_unique<SqliteRootCatalog>(path, busy_wait);
  STRATA_RETURN_IF_ERROR(catalog->open());
  return catalog;
}

std::unique_ptr<Catalog> make_sqlite_catalog(const std::string& path) {
  return std::make_unique<SqliteCatalog>(path, kSqliteBusyWait);
}

std::unique_ptr<RootCatalog> make_sqlite_root_catalog(const std::string& path) {
  return std::make_unique<SqliteRootCatalog>(path, kSqliteBusyWait);
}

}  // namespace strata::catalog
