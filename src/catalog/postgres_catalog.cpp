#include "catalog/postgres_catalog.h"

#include <array>
#include <utility>
#include <vector>

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
constexpr std::array<SqlText, 1> kSchema = {R"sql(
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
)sql"};

class PostgresCatalog final : public Catalog {
 public:
  PostgresCatalog(PostgresDatabase& database, std::string kb_uuid)
      : database_(database), kb_(std::move(kb_uuid)) {}

  Result<void> put_manifest(const ManifestRow& row) override {
    return database_.write(
        R"sql(INSERT INTO strata._strata_manifest (kb, "table", source, "rows", state)
              VALUES ($1, $2, $3, $4, $5)
              ON CONFLICT (kb, "table") DO UPDATE
              SET source = excluded.source, "rows" = excluded."rows", state = excluded.state)sql",
        {kb_, row.table, row.source, row.rows, row.state});
  }

  Result<std::vector<ManifestRow>> manifest() override {
    return database_.read<ManifestRow>(
        R"sql(SELECT "table", source, "rows", state FROM strata._strata_manifest
              WHERE kb = $1 ORDER BY "table")sql",
        {kb_}, [](const PostgresRow& row) {
          return ManifestRow{row.text(0), row.text(1), row.number(2), row.text(3)};
        });
  }

  Result<void> put_receiver(const ReceiverRow& row) override {
    return database_.write(
        R"sql(INSERT INTO strata.receivers (kb, stream, settings) VALUES ($1, $2, $3)
              ON CONFLICT (kb, stream) DO UPDATE SET settings = excluded.settings)sql",
        {kb_, row.stream, row.settings_json});
  }

  Result<std::vector<ReceiverRow>> receivers() override {
    return database_.read<ReceiverRow>(
        "SELECT stream, settings FROM strata.receivers WHERE kb = $1 ORDER BY stream", {kb_},
        [](const PostgresRow& row) { return ReceiverRow{row.text(0), row.text(1)}; });
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

 private:
  PostgresDatabase& database_;
  const std::string kb_;
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
    return database_.write(
        R"sql(INSERT INTO strata.nodes (process, node, started_at) VALUES ($1, $2, $3)
              ON CONFLICT (process) DO UPDATE
              SET node = excluded.node, started_at = excluded.started_at)sql",
        {row.process, row.node, row.started_at});
  }

  Result<std::vector<NodeRow>> nodes() override {
    return database_.read<NodeRow>(
        "SELECT node, process, started_at FROM strata.nodes ORDER BY process", {},
        [](const PostgresRow& row) { return NodeRow{row.text(0), row.text(1), row.text(2)}; });
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
