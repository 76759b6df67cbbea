#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "duck/cells_function.h"
#include "duck/handles.h"
#include "duck/sql.h"
#include "duck/write_error.h"

namespace strata::duck {

/// The in-memory DuckDB instance that writes files, and its connections. Thread-safe; statements of
/// several threads run side by side, each on its caller's thread and on a connection of its own.
class WriterInstances {
 public:
  /// `fatal` is for tests: DuckDB has no statement that ends an instance on demand.
  explicit WriterInstances(std::uint64_t memory_bytes, bool (*fatal)(duckdb_error_type) = is_fatal)
      : memory_bytes_(memory_bytes), fatal_(fatal) {}

  /// Runs one statement; its rows are dropped. Opens an instance where there is none; after a fatal
  /// error, on which DuckDB refuses every further statement, the next call gets a new one. Other
  /// threads' statements on the old one run to their end. Errors: write_error's.
  Result<void> run(const Sql& sql);

  /// Where statements find what `strata_cells(slot)` reads.
  CellSlots& slots() { return slots_; }

 private:
  struct Instance {
    Database database;
    std::vector<Connection> idle;  // guarded by mutex_
  };
  struct Session {
    // In this order: the connection closes before its instance may go.
    std::shared_ptr<Instance> instance;
    Connection connection;
  };

  Result<std::shared_ptr<Instance>> open();
  Result<Session> acquire();
  void release(Session session);
  void retire(const Session& session);

  const std::uint64_t memory_bytes_;
  bool (*const fatal_)(duckdb_error_type);
  CellSlots slots_;  // before the instance: its table function points here
  std::mutex mutex_;
  // Shared with the sessions on it: a retired instance lives until the last of them has ended.
  std::shared_ptr<Instance> current_;  // guarded by mutex_
};

}  // namespace strata::duck
