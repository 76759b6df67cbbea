#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "parquet/batch_writer.h"

namespace strata::duck {

struct CopyBatchWriterOptions {
  std::uint64_t memory_bytes = 1024ULL * 1024 * 1024;
};

/// BatchWriter by DuckDB's COPY on one long-lived in-memory instance (threads=1, no external
/// access beyond the COPY target) fed by a table function over the cells: the kb's DuckDB file is
/// never opened and no lock is taken. Calls from several threads run side by side, each on its own
/// connection. An instance that reports a fatal error is replaced.
Result<std::unique_ptr<parquet::BatchWriter>> make_copy_batch_writer(
    const CopyBatchWriterOptions& options);

/// The version of the loaded libduckdb, as it says itself (`v1.5.6`).
std::string library_version();
/// An error in one clear line when the loaded library is older than 1.5.
Result<void> check_library_version();

}  // namespace strata::duck
