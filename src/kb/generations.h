#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "duck/sql.h"
#include "duck/worker_pool.h"
#include "io/file_system.h"

namespace strata::kb {

struct Generation {
  std::uint64_t number = 0;
  std::string file;  // absolute path
};

/// The published versions of one kb's DuckDB file (architecture.md, "The DuckDB file:
/// generations"). Nobody writes a file that somebody may be reading; the number decides, the kb
/// lock only queues. Thread-safe.
class Generations {
 public:
  virtual ~Generations() = default;

  /// Highest non-empty number by listing, never the symlink. kNotFound: there is none.
  virtual Result<Generation> newest() = 0;
  /// What that generation holds; asked of a worker once per number.
  virtual Result<std::vector<duck::View>> views(const Generation& generation) = 0;
  /// Whether a program that is not ours holds that generation open for writing, which keeps every
  /// reader out until it closes it.
  virtual Result<bool> held_by_outsider(const Generation& generation) = 0;
  /// Copies the newest, runs `ddl` on the copy in a worker, publishes it as the next number and
  /// repoints the symlink; durable when it returns. The caller holds the kb's lease; a number
  /// found taken means starting again from the newer one, which happens inside.
  virtual Result<Generation> publish(const std::vector<duck::Sql>& ddl) = 0;
};

}  // namespace strata::kb
