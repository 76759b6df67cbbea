#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "duck/handles.h"

/// The engine of a worker process.
namespace strata::duck {

struct HostOptions {
  std::uint64_t memory_bytes = 0;
  std::string spill_folder{};  // empty: nothing is spilled to disk
};

/// One in-memory instance that loads nothing by itself and has the caller's thread alone: two make
/// each other's turns long, and ingest waits for them (docs/QUERIES.md). kInternal: it could not be
/// opened.
Result<Database> open_host(const HostOptions& options);
Result<Connection> connect(const Database& database);

/// For the rest of the instance's life only files below `folders` (each with a `/` at its end) and
/// the one at `path` (empty: none) are opened, and no setting changes.
Result<void> lock_down(duckdb_connection connection, const std::vector<std::string>& folders,
                       const std::string& path);

}  // namespace strata::duck
