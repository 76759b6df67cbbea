#include "duck/writer_instances.h"

#include <string>
#include <utility>

namespace strata::duck {
namespace {

Error not_ready(std::string detail) {
  return make_error(Code::kInternal, "The file writer could not be started.", std::move(detail));
}

}  // namespace

Result<std::shared_ptr<WriterInstances::Instance>> WriterInstances::open() {
  const std::pair<const char*, std::string> settings[] = {
      // Work stays on the calling thread: calls run side by side, none waits for another's.
      {"threads", "1"},
      {"memory_limit", std::to_string(memory_bytes_) + "B"},
      {"temp_directory", ""},
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
      {"allow_community_extensions", "false"},
      {"enable_external_file_cache", "false"},
  };
  Config config;
  if (duckdb_create_config(config.out()) != DuckDBSuccess) return not_ready("duckdb_create_config");
  for (const auto& [name, value] : settings) {
    if (duckdb_set_config(config.get(), name, value.c_str()) != DuckDBSuccess) {
      return not_ready(std::string("duckdb_set_config ") + name);
    }
  }
  auto instance = std::make_shared<Instance>();
  char* error = nullptr;
  if (duckdb_open_ext(nullptr, instance->database.out(), config.get(), &error) != DuckDBSuccess) {
    const std::string text = error == nullptr ? "duckdb_open_ext" : error;
    duckdb_free(error);
    return not_ready(text);
  }
  Connection connection;
  if (duckdb_connect(instance->database.get(), connection.out()) != DuckDBSuccess) {
    return not_ready("duckdb_connect");
  }
  STRATA_RETURN_IF_ERROR(register_cells_function(connection.get(), slots_));
  instance->idle.push_back(std::move(connection));
  return instance;
}

Result<void> WriterInstances::run(const Sql& sql) {
  STRATA_ASSIGN_OR_RETURN(Session session, acquire());
  {
    QueryResult result;
    if (duckdb_query(session.connection.get(), sql.str().c_str(), result.get()) != DuckDBSuccess) {
      const duckdb_error_type type = duckdb_result_error_type(result.get());
      if (fatal_(type)) retire(session);
      // The connection goes too: nothing of a failed statement reaches the next one.
      return write_error(type, result.error());
    }
  }
  release(std::move(session));
  return {};
}

Result<WriterInstances::Session> WriterInstances::acquire() {
  const std::lock_guard lock(mutex_);
  if (!current_) {
    STRATA_ASSIGN_OR_RETURN(current_, open());
  }
  Session session;
  session.instance = current_;
  if (!current_->idle.empty()) {
    session.connection = std::move(current_->idle.back());
    current_->idle.pop_back();
  } else if (duckdb_connect(current_->database.get(), session.connection.out()) != DuckDBSuccess) {
    return not_ready("duckdb_connect");
  }
  return session;
}

void WriterInstances::release(Session session) {
  const std::lock_guard lock(mutex_);
  if (session.instance == current_) current_->idle.push_back(std::move(session.connection));
}

void WriterInstances::retire(const Session& session) {
  const std::lock_guard lock(mutex_);
  if (session.instance == current_) current_.reset();
}

}  // namespace strata::duck
