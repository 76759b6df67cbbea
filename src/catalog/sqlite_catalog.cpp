#include "catalog/sqlite_catalog.h"

#include <array>
#include <utility>

#include "catalog/sqlite_database.h"

namespace strata::catalog {
namespace {

// The types and clauses are those that SQLite and PostgreSQL both read, so that one schema serves
// both. Never change a script that was released: add the next.
constexpr std::array<SqlText, 1> kKbSchema = {R"sql(
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
)sql"};

constexpr std::array<SqlText, 1> kRootSchema = {R"sql(
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
)sql"};

class SqliteCatalog final : public Catalog {
 public:
  SqliteCatalog(const std::string& path, std::chrono::milliseconds busy_wait)
      : database_({path, kKbSchema, busy_wait}) {}

  Result<void> open() { return database_.open(); }

  Result<void> put_manifest(const ManifestRow& row) override {
    return database_.write(
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

  Result<std::vector<ManifestRow>> manifest() override {
    return database_.read<ManifestRow>(
        R"sql(SELECT "table", source, "rows", state FROM _strata_manifest ORDER BY "table")sql",
        [](const SqliteStatement& row) {
          return ManifestRow{row.text(0), row.text(1), row.number(2), row.text(3)};
        });
  }

  Result<void> put_receiver(const ReceiverRow& row) override {
    return database_.write(
        R"sql(INSERT INTO receivers (stream, settings) VALUES (?1, ?2)
              ON CONFLICT (stream) DO UPDATE SET settings = excluded.settings)sql",
        [&row](SqliteStatement& statement) {
          statement.bind(1, row.stream);
          statement.bind(2, row.settings_json);
        });
  }

  Result<std::vector<ReceiverRow>> receivers() override {
    return database_.read<ReceiverRow>(
        "SELECT stream, settings FROM receivers ORDER BY stream",
        [](const SqliteStatement& row) { return ReceiverRow{row.text(0), row.text(1)}; });
  }

  Result<void> remove_stream(const std::string& stream) override {
    STRATA_RETURN_IF_ERROR(
        database_.write("DELETE FROM _strata_manifest WHERE source = 'stream:' || ?1",
                        [&stream](SqliteStatement& statement) { statement.bind(1, stream); }));
    return database_.write("DELETE FROM receivers WHERE stream = ?1",
                           [&stream](SqliteStatement& statement) { statement.bind(1, stream); });
  }

 private:
  SqliteDatabase database_;
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
    return database_.write(
        R"sql(INSERT INTO nodes (process, node, started_at) VALUES (?1, ?2, ?3)
              ON CONFLICT (process) DO UPDATE
              SET node = excluded.node, started_at = excluded.started_at)sql",
        [&row](SqliteStatement& statement) {
          statement.bind(1, row.process);
          statement.bind(2, row.node);
          statement.bind(3, row.started_at);
        });
  }

  Result<std::vector<NodeRow>> nodes() override {
    return database_.read<NodeRow>(
        "SELECT node, process, started_at FROM nodes ORDER BY process",
        [](const SqliteStatement& row) { return NodeRow{row.text(0), row.text(1), row.text(2)}; });
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
