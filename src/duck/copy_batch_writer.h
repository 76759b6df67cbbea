#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "parquet/batch_writer.h"

namespace strata::duck {

struct CopyBatchWriterOptions {
  /// Where encode() has COPY write; empty: the system's folder for temporary files.
  std::string scratch_folder;
  /// DuckDB's limit, and what all writes at once may be expected to need; further ones wait.
  std::uint64_t memory_bytes = 1024ULL * 1024 * 1024;
};

/// BatchWriter by DuckDB's COPY, the oracle of Strata's own encoder and what that is measured by.
/// One long-lived in-memory instance (threads=1, no extension loaded or installed, nothing read but
/// our cells) fed by a table function over them: the kb's DuckDB file is never opened and no lock
/// is taken. Calls from several threads run side by side, each on its own connection. An instance
/// that reports a fatal error is replaced. Equal input gives equal bytes for one version of DuckDB.
class CopyBatchWriter : public parquet::BatchWriter {
 public:
  /// encode() into a file, at an absolute path under which nothing is yet, in a folder that is
  /// there. On an error nothing usable is left.
  virtual Result<void> write(const parquet::BatchFile& file, const std::string& path) = 0;
  virtual Result<void> write_empty(std::span<const std::string> columns,
                                   const std::string& path) = 0;
};

Result<std::unique_ptr<CopyBatchWriter>> make_copy_batch_writer(
    const CopyBatchWriterOptions& options);

/// The version of the loaded libduckdb, as it says itself (`v1.5.6`).
std::string library_version();
/// An error in one clear line when the loaded library is older than 1.5.
Result<void> check_library_version();

}  // namespace strata::duck
