#include "duck/worker_host.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "duck/sql.h"
#include "duck/worker_connection.h"

namespace strata::duck {
namespace {

Error cannot_open(std::string detail) {
  return make_error(Code::kInternal, "the query engine could not be opened", std::move(detail));
}

}  // namespace

Result<Database> open_host(const HostOptions& options) {
  Config config;
  if (duckdb_create_config(config.out()) == DuckDBError) return cannot_open("config");
  // External files uncached: they never change, and the cache's notion of unchanged is coarse
  // (duckdb-facts.md C5).
  const std::string memory = fmt::format("{}B", options.memory_bytes);
  const std::array<std::array<const char*, 2>, 7> settings = {{
      {"threads", "1"},
      {"memory_limit", memory.c_str()},
      {"temp_directory", options.spill_folder.c_str()},
      {"autoload_known_extensions", "false"},
      {"autoinstall_known_extensions", "false"},
      {"allow_community_extensions", "false"},
      {"enable_external_file_cache", "false"},
  }};
  for (const auto& [name, value] : settings) {
    if (duckdb_set_config(config.get(), name, value) == DuckDBError) return cannot_open(name);
  }
  Database database;
  char* why = nullptr;
  if (duckdb_open_ext(":memory:", database.out(), config.get(), &why) == DuckDBError) {
    Error error = cannot_open(why == nullptr ? "" : why);
    duckdb_free(why);
    return error;
  }
  return database;
}

Result<Connection> connect(const Database& database) {
  Connection connection;
  if (duckdb_connect(database.get(), connection.out()) == DuckDBError) {
    return cannot_open("connect");
  }
  return connection;
}

Result<void> lock_down(duckdb_connection connection, const std::vector<std::string>& folders,
                       const std::string& path) {
  Sql allow("SET allowed_directories=[");
  for (std::size_t index = 0; index < folders.size(); ++index) {
    if (index != 0) allow.raw(", ");
    // DuckDB compares a glob's text, not what it stands for: the view's escaped spelling of the
    // folder is allowed beside the plain one.
    allow.literal(folders[index]).raw(", ").glob(folders[index], "");
  }
  allow.raw("]");
  if (!path.empty()) {
    STRATA_RETURN_IF_ERROR(run(connection, Sql("SET allowed_paths=[").literal(path).raw("]")));
  }
  // In this order: each makes the one before it final (duckdb-facts.md J1).
  STRATA_RETURN_IF_ERROR(run(connection, allow));
  STRATA_RETURN_IF_ERROR(run(connection, Sql("SET enable_external_access=false")));
  return run(connection, Sql("SET lock_configuration=true"));
}

}  // namespace strata::duck
