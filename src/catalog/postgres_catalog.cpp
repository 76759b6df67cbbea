#include "catalog/postgres_catalog.h"

#include <array>
#include <vector>

#include "catalog/columns.h"
#include "catalog/postgres_jobs.h"
#include "catalog/postgres_now.h"
#include "catalog/postgres_ontology.h"

namespace strata::catalog {
namespace {

// Everything lies in one schema, `strata`, and the tables of all kbs are the same ones, with the
// kb's UUID as their first key, rather than a schema for each kb:
// - a script brings all kbs up to date in one transaction, also those that no process has open;
// - deleting a kb is deleting rows, which locks no catalog of PostgreSQL's and nobody else's rows;
// - `pg_dump --schema=strata` is all of it, of one instant;
// - no statement has a kb's name in its text, so each is a literal and prepared once for all kbs.
// The UUID and not the id: a kb that is deleted and made again must not find its forerunner's rows.
//
// COLLATE "C" orders by bytes, as SQLite does; a database's own order is a matter of its locale.
// Never change a script that was released: add the next.
constexpr std::array<SqlText, 3> kSchema = {R"sql(
  DO $$ BEGIN
    -- IF NOT EXISTS would want the right to make it from users whose administrator made it.
    IF to_regnamespace('strata') IS NULL THEN CREATE SCHEMA strata; END IF;
  END $$;
  CREATE TABLE strata.schema_version (
    version BIGINT NOT NULL PRIMARY KEY,
    applied_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now()
  );
  CREATE TABLE strata.knowledgebases (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    uuid TEXT NOT NULL,
    backend TEXT NOT NULL,
    created_at TEXT NOT NULL
  );
  CREATE TABLE strata.nodes (
    process TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    node TEXT NOT NULL,
    started_at TEXT NOT NULL
  );
  CREATE TABLE strata._strata_manifest (
    kb TEXT COLLATE "C" NOT NULL,
    "table" TEXT COLLATE "C" NOT NULL,
    source TEXT NOT NULL,
    "rows" BIGINT,
    state TEXT NOT NULL CHECK (state IN ('deferred', 'ready', 'error')),
    PRIMARY KEY (kb, "table")
  );
  CREATE TABLE strata.receivers (
    kb TEXT COLLATE "C" NOT NULL,
    stream TEXT COLLATE "C" NOT NULL,
    settings TEXT NOT NULL,
    PRIMARY KEY (kb, stream)
  );
)sql",
                                            R"sql(
  -- Of a kb at most one is under way.
  CREATE TABLE strata.jobs (
    kb TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
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
    ended BIGINT,
    PRIMARY KEY (kb, id)
  );
  CREATE INDEX jobs_newest ON strata.jobs (kb, created);
  CREATE UNIQUE INDEX jobs_one_under_way ON strata.jobs (kb)
    WHERE state IN ('queued', 'running');
  ALTER TABLE strata.nodes ADD COLUMN version TEXT NOT NULL DEFAULT '';
  ALTER TABLE strata.nodes ADD COLUMN heartbeat BIGINT NOT NULL DEFAULT 0;
)sql",
                                            R"sql(
  -- Of a kb at most one is pending and one active.
  CREATE TABLE strata.ontology_versions (
    kb TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'active', 'retired')),
    model_sha256 TEXT NOT NULL,
    content TEXT NOT NULL,
    job TEXT NOT NULL,
    created BIGINT NOT NULL,
    PRIMARY KEY (kb, version)
  );
  CREATE UNIQUE INDEX ontology_versions_one_pending ON strata.ontology_versions (kb)
    WHERE state = 'pending';
  CREATE UNIQUE INDEX ontology_versions_one_active ON strata.ontology_versions (kb)
    WHERE state = 'active';
)sql"};

Result<void> put(PostgresConnection& session, const std::string& kb, const ManifestRow& row) {
  STRATA_RETURN_IF_ERROR(session.run(
      R"sql(INSERT INTO strata._strata_manifest (kb, "table", source, "rows", state)
            VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (kb, "table") DO UPDATE
            SET source = excluded.source, "rows" = excluded."rows", state = excluded.state)sql",
      {kb, row.table, row.source, row.rows, row.state}));
  return {};
}

Result<void> put(PostgresConnection& session, const std::string& kb, const ReceiverRow& row) {
  STRATA_RETURN_IF_ERROR(
      session.run(R"sql(INSERT INTO strata.receivers (kb, stream, settings) VALUES ($1, $2, $3)
                        ON CONFLICT (kb, stream) DO UPDATE SET settings = excluded.settings)sql",
                  {kb, row.stream, row.settings_json}));
  return {};
}

Result<std::vector<ManifestRow>> manifest_of(PostgresConnection& session, const std::string& kb) {
  STRATA_ASSIGN_OR_RETURN(
      const auto answer,
      session.run(R"sql(SELECT "table", source, "rows", state FROM strata._strata_manifest
                        WHERE kb = $1 ORDER BY "table")sql",
                  {kb}));
  return rows_of<ManifestRow>(answer, [](const PostgresRow& row) {
    return ManifestRow{row.text(0), row.text(1), row.number(2), row.text(3)};
  });
}

Result<std::vector<ReceiverRow>> receivers_of(PostgresConnection& session, const std::string& kb) {
  STRATA_ASSIGN_OR_RETURN(
      const auto answer,
      session.run("SELECT stream, settings FROM strata.receivers WHERE kb = $1 ORDER BY stream",
                  {kb}));
  return rows_of<ReceiverRow>(
      answer, [](const PostgresRow& row) { return ReceiverRow{row.text(0), row.text(1)}; });
}

class PostgresCatalog final : public Catalog {
 public:
  PostgresCatalog(PostgresDatabase& database, const std::string& kb_uuid)
      : database_(database), kb_(kb_uuid), jobs_(database, kb_uuid), ontology_(database, kb_uuid) {}

  Result<void> put_manifest(const ManifestRow& row) override {
    return database_.with_session(
        [&](PostgresConnection& session) { return put(session, kb_, row); });
  }

  Result<std::vector<ManifestRow>> manifest() override {
    return database_.with_session(
        [this](PostgresConnection& session) { return manifest_of(session, kb_); });
  }

  Result<void> put_receiver(const ReceiverRow& row) override {
    return database_.with_session(
        [&](PostgresConnection& session) { return put(session, kb_, row); });
  }

  Result<std::vector<ReceiverRow>> receivers() override {
    return database_.with_session(
        [this](PostgresConnection& session) { return receivers_of(session, kb_); });
  }

  Result<void> remove_stream(const std::string& stream) override {
    return database_.transaction([this, &stream](PostgresConnection& session) -> Result<void> {
      STRATA_RETURN_IF_ERROR(session.run(
          "DELETE FROM strata._strata_manifest WHERE kb = $1 AND source = 'stream:' || $2::text",
          {kb_, stream}));
      STRATA_RETURN_IF_ERROR(
          session.run("DELETE FROM strata.receivers WHERE kb = $1 AND stream = $2", {kb_, stream}));
      return {};
    });
  }

  Jobs& jobs() override { return jobs_; }
  OntologyVersions& ontology() override { return ontology_; }

  Result<CatalogContent> content() override {
    CatalogContent content;
    const auto read =
        database_.transaction([this, &content](PostgresConnection& session) -> Result<void> {
          // One instant for all of them, where each statement would have its own.
          STRATA_RETURN_IF_ERROR(
              session.run_script("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"));
          STRATA_ASSIGN_OR_RETURN(content.manifest, manifest_of(session, kb_));
          STRATA_ASSIGN_OR_RETURN(content.receivers, receivers_of(session, kb_));
          STRATA_ASSIGN_OR_RETURN(content.jobs, jobs_.all(session));
          STRATA_ASSIGN_OR_RETURN(content.versions, ontology_.all(session));
          return {};
        });
    if (!read) return read.error();
    return content;
  }

  Result<void> replace_content(const CatalogContent& content) override {
    return database_.transaction([this, &content](PostgresConnection& session) -> Result<void> {
      STRATA_RETURN_IF_ERROR(
          session.run("DELETE FROM strata._strata_manifest WHERE kb = $1", {kb_}));
      STRATA_RETURN_IF_ERROR(session.run("DELETE FROM strata.receivers WHERE kb = $1", {kb_}));
      for (const ManifestRow& row : content.manifest) {
        STRATA_RETURN_IF_ERROR(put(session, kb_, row));
      }
      for (const ReceiverRow& row : content.receivers) {
        STRATA_RETURN_IF_ERROR(put(session, kb_, row));
      }
      STRATA_RETURN_IF_ERROR(jobs_.replace_all(session, content.jobs));
      return ontology_.replace_all(session, content.versions);
    });
  }

 private:
  PostgresDatabase& database_;
  const std::string kb_;
  PostgresJobs jobs_;
  PostgresOntology ontology_;
};

class PostgresRootCatalog final : public RootCatalog {
 public:
  explicit PostgresRootCatalog(PostgresDatabase& database) : database_(database) {}

  Result<void> put_knowledgebase(const KnowledgebaseRow& row) override {
    return database_.write(
        R"sql(INSERT INTO strata.knowledgebases (id, uuid, backend, created_at)
              VALUES ($1, $2, $3, $4)
              ON CONFLICT (id) DO UPDATE SET uuid = excluded.uuid,
                backend = excluded.backend, created_at = excluded.created_at)sql",
        {row.id, row.uuid, row.backend, row.created_at});
  }

  Result<std::vector<KnowledgebaseRow>> knowledgebases() override {
    return database_.read<KnowledgebaseRow>(
        "SELECT id, uuid, backend, created_at FROM strata.knowledgebases ORDER BY id", {},
        [](const PostgresRow& row) {
          return KnowledgebaseRow{row.text(0), row.text(1), row.text(2), row.text(3)};
        });
  }

  Result<void> remove_knowledgebase(const std::string& id) override {
    return database_.write("DELETE FROM strata.knowledgebases WHERE id = $1", {id});
  }

  Result<void> put_node(const NodeRow& row) override {
    return database_.transaction([&row](PostgresConnection& session) -> Result<void> {
      STRATA_RETURN_IF_ERROR(session.run(
          "DELETE FROM strata.nodes WHERE heartbeat < " STRATA_POSTGRES_NOW " - $1::bigint",
          {std::optional(to_micros(kNodeRowKept))}));
      STRATA_RETURN_IF_ERROR(
          session.run("INSERT INTO strata.nodes (process, node, started_at, version, heartbeat) "
                      "VALUES ($1, $2, $3, $4, " STRATA_POSTGRES_NOW ") "
                      "ON CONFLICT (process) DO UPDATE SET node = excluded.node, "
                      "started_at = excluded.started_at, version = excluded.version, "
                      "heartbeat = excluded.heartbeat",
                      {row.process, row.node, row.started_at, row.version}));
      return {};
    });
  }

  Result<std::vector<NodeSeen>> nodes() override {
    return database_.read<NodeSeen>(
        "SELECT node, process, started_at, version, heartbeat, " STRATA_POSTGRES_NOW
        " FROM strata.nodes ORDER BY process",
        {}, node_seen_of<PostgresRow>);
  }

  Result<WallTime> now() override {
    STRATA_ASSIGN_OR_RETURN(
        const auto times,
        database_.read<WallTime>("SELECT " STRATA_POSTGRES_NOW, {}, [](const PostgresRow& row) {
          return from_micros(row.number(0).value_or(0));
        }));
    return times.at(0);
  }

 private:
  PostgresDatabase& database_;
};

}  // namespace

Result<std::unique_ptr<PostgresDatabase>> make_postgres_database(const PostgresOptions& options,
                                                                 const Clock& clock) {
  return PostgresDatabase::create(options, kSchema, clock);
}

std::unique_ptr<RootCatalog> make_postgres_root_catalog(PostgresDatabase& database) {
  return std::make_unique<PostgresRootCatalog>(database);
}

std::unique_ptr<Catalog> make_postgres_catalog(PostgresDatabase& database,
                                               const std::string& kb_uuid) {
  return std::make_unique<PostgresCatalog>(database, kb_uuid);
}

}  // namespace strata::catalog
