#pragma once

#include <duckdb.h>

#include <vector>

#include "base/error.h"
#include "duck/worker_pool.h"

namespace strata::duck {

/// Makes the table kManifestTable with `rows` on `connection` alone; it ends with the connection.
/// A temporary table, so that the name without a schema and in `main` is this one, and nothing of
/// the kb's own is hidden: its views stand in other schemas. Values are bound, never spelled.
Result<void> make_manifest_table(duckdb_connection connection,
                                 const std::vector<ManifestRow>& rows);

}  // namespace strata::duck
