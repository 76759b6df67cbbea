#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "parquet/batch_writer.h"

namespace strata::duck {

struct CopyBatchWriterOptions {
  /// DuckDB's limit, and what all writes at once may be expected to need; further ones wait.
  std::uint64_t memory_bytes = 1024ULL * 1024 * 1024;
};

/// BatchWriter by DuckDB's COPY on one long-lived in-memory instance (threads=1, no extension
/// loaded or installed, nothing read but our cells) fed by a table function over them: the kb's
/// DuckDB file is never opened and no lock is taken. Calls from several threads run side by side,
/// each on its own connection. An instance that reports a fatal error is replaced. Equal input
/// gives equal bytes for one version of DuckDB.
Result<std::unique_ptr<parquet::BatchWriter>> make_copy_batch_writer(
    const CopyBatchWriterOptions& options);

/// The version of the loaded libduckdb, as it says itself (`v1.5.6`).
std::string library_version();
/// An error in one clear line when the loaded library is older than 1.5.
Result<void> check_library_version();

}  // namespace strata::duck
