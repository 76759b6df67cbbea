#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "catalog/catalog.h"
#include "kb/clock_check.h"
#include "kb/root.h"

namespace strata::kb {

/// How often a process says in the root's catalog that it lives. Where that is SQLite no other
/// machine waits for the news, and a disk may rest.
constexpr std::chrono::seconds heartbeat_interval(CatalogKind kind) {
  return kind == CatalogKind::kPostgres ? std::chrono::seconds(10) : std::chrono::seconds(60);
}

/// A process that missed two beats has ended, or cannot reach the catalog. By the
/// catalog's own clock; below zero it was put back.
constexpr bool is_alive(const catalog::NodeSeen& seen, CatalogKind kind) {
  return seen.ago <= 3 * heartbeat_interval(kind);
}

/// Says at once, and then again and again on a thread of its own, that this process lives, and
/// compares its clock. A catalog that is away stops nothing.
class Heartbeat {
 public:
  struct Options {
    Root& root;
    const Clock& clock;
    std::string version;
    ClockCheck* check = nullptr;  // null: no clock is shared
  };
  /// What `options` borrows outlives this.
  explicit Heartbeat(const Options& options);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void beat();

  const Options options_;
  const catalog::NodeRow row_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace strata::kb
