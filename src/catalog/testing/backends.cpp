#include "catalog/testing/backends.h"

#include <sqlite3.h>

#include <filesystem>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "catalog/postgres_catalog.h"
#include "catalog/sqlite_catalog.h"
#include "catalog/testing/postgres_server.h"

namespace strata::catalog {
namespace {

std::string aged(std::chrono::seconds by) {
  return " SET heartbeat = heartbeat - " + std::to_string(std::chrono::microseconds(by).count());
}

class SqliteBackend final : public Backend {
 public:
  SqliteBackend() { std::filesystem::create_directory(folder_); }
  ~SqliteBackend() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Catalog> holder() override { return make_sqlite_catalog(path_); }
  std::unique_ptr<RootCatalog> root_holder() override {
    return make_sqlite_root_catalog(root_path_);
  }
  void write_newer_schema() override { run(path_, "PRAGMA user_version = 4"); }
  void write_older_schema() override {
    run(path_, "DROP TABLE jobs; DROP TABLE ontology_versions; PRAGMA user_version = 1");
    run(root_path_,
        "ALTER TABLE nodes DROP COLUMN version; ALTER TABLE nodes DROP COLUMN heartbeat; "
        "PRAGMA user_version = 1");
  }
  std::string kb_tables() override {
    return run(path_,
               "SELECT group_concat(name, ' ') FROM "
               "(SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name)");
  }
  void age_jobs(std::chrono::seconds by) override { run(path_, "UPDATE jobs" + aged(by)); }
  void age_nodes(std::chrono::seconds by) override { run(root_path_, "UPDATE nodes" + aged(by)); }

 private:
  /// The last value of the answer.
  static std::string run(const std::string& path, const std::string& sql) {
    sqlite3* raw = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
    sqlite3_busy_timeout(raw, static_cast<int>(kSqliteBusyWait.count()));
    std::string value;
    const auto keep = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0] == nullptr ? "" : values[0];
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(raw, sql.c_str(), keep, &value, nullptr), SQLITE_OK)
        << sqlite3_errmsg(raw);
    sqlite3_close(raw);
    return value;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("strata-catalog-" + random_hex(8));
  const std::string path_ = (folder_ / "it's a catalog.sqlite").string();
  const std::string root_path_ = (folder_ / "root.sqlite").string();
};

class PostgresBackend final : public Backend {
 public:
  std::unique_ptr<Catalog> holder() override { return make_postgres_catalog(database(), "kb's"); }
  std::unique_ptr<RootCatalog> root_holder() override {
    return make_postgres_root_catalog(database());
  }
  void write_newer_schema() override { run("INSERT INTO strata.schema_version VALUES (4)"); }
  void write_older_schema() override {
    run("DROP TABLE strata.jobs; DROP TABLE strata.ontology_versions; "
        "ALTER TABLE strata.nodes DROP COLUMN version, DROP COLUMN heartbeat; "
        "DELETE FROM strata.schema_version WHERE version > 1");
  }
  std::string kb_tables() override {
    return run(R"sql(SELECT string_agg(table_name, ' ' ORDER BY table_name COLLATE "C")
                     FROM information_schema.columns
                     WHERE table_schema = 'strata' AND column_name = 'kb')sql");
  }
  void age_jobs(std::chrono::seconds by) override { run("UPDATE strata.jobs" + aged(by)); }
  void age_nodes(std::chrono::seconds by) override { run("UPDATE strata.nodes" + aged(by)); }

 private:
  std::string run(const std::string& sql) { return PostgresClient(place_.admin_url).value(sql); }
  /// One a holder: processes share no connections.
  PostgresDatabase& database() {
    databases_.push_back(make_postgres_database({.url = place_.url}, clock_).value());
    return *databases_.back();
  }

  const PostgresServer::Database place_ = PostgresServer::shared().create_database();
  const SystemClock clock_;
  std::vector<std::unique_ptr<PostgresDatabase>> databases_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(Kind kind) {
  if (kind == Kind::kSqlite) return std::make_unique<SqliteBackend>();
  return std::make_unique<PostgresBackend>();
}

void PrintTo(Kind kind, std::ostream* out) {
  *out << (kind == Kind::kSqlite ? "sqlite" : "postgres");
}

void BackendTest::SetUp() {
  if (GetParam() == Kind::kPostgres) STRATA_SKIP_WITHOUT_POSTGRES();
  backend_ = make_backend(GetParam());
}

}  // namespace strata::catalog
