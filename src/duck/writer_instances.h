#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "duck/cells_function.h"
#include "duck/handles.h"

namespace strata::duck {

/// The in-memory DuckDB instance that writes files, and its connections. Thread-safe.
class WriterInstances {
  /// Lives until it is retired and the last session on it has ended.
  struct Instance {
    Database database;
    std::vector<Connection> idle;
  };

 public:
  /// One connection, for one thread and one statement at a time.
  class Session {
   public:
    duckdb_connection connection() const { return connection_.get(); }

   private:
    friend class WriterInstances;
    // In this order: the connection closes before its instance may go.
    std::shared_ptr<Instance> instance_;
    Connection connection_;
  };

  explicit WriterInstances(std::uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}

  /// An idle connection, or a new one; a new instance, where there is none. kInternal.
  Result<Session> acquire();
  /// Gives back a connection whose last statement succeeded. A session that saw an error is just
  /// destroyed.
  void release(Session session);
  /// Takes the session's instance out of use: after a fatal error DuckDB refuses every further
  /// statement on it. Other threads' sessions on it run to their end.
  void retire(const Session& session);

  CellSlots& slots() { return slots_; }

 private:
  Result<std::shared_ptr<Instance>> open();

  const std::uint64_t memory_bytes_;
  CellSlots slots_;  // before the instances: their table function points at it
  std::mutex mutex_;
  std::shared_ptr<Instance> current_;  // guarded by mutex_, its idle connections too
};

}  // namespace strata::duck
