#pragma once

#include <duckdb.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"

namespace strata::duck {

/// Looks after the worker while a statement runs, from a thread of its own: interrupts it at its
/// deadline, again and again, because DuckDB forgets an interrupt that comes between two phases;
/// and ends the process when the server is gone, which nobody else would notice by then. What an
/// interrupt cannot stop (one call of `repeat`) the server kills.
class QueryWatch {
 public:
  explicit QueryWatch(int socket);
  ~QueryWatch();
  QueryWatch(const QueryWatch&) = delete;
  QueryWatch& operator=(const QueryWatch&) = delete;

  /// `connection` must stay open until disarm().
  void arm(duckdb_connection connection, SteadyTime deadline);
  void disarm();
  /// Whether the deadline has passed since arm().
  bool expired() const;

 private:
  void run();

  const int socket_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  duckdb_connection connection_ = nullptr;
  SteadyTime deadline_{};
  bool expired_ = false;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace strata::duck
