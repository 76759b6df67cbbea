#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cells.h"
#include "base/error.h"

namespace strata::parquet {

/// The last column of every landed file and of the anchor.
inline constexpr std::string_view kBatchIdColumn = "_batch_id";

/// Footer key-value metadata, in the order it is written; all text.
using KeyValues = std::vector<std::pair<std::string, std::string>>;

/// What one Parquet file shall hold. Borrows everything for the call.
struct BatchFile {
  const CellTable& cells;
  /// cells.columns under the names they are stored by (the registry's first spelling).
  std::span<const std::string> stored_names;
  /// Written into every row of the last column, `_batch_id`.
  std::string_view batch_id;
  const KeyValues& key_values;
};

/// Encodes a batch as one Parquet file, every column VARCHAR. Answers the file's bytes: publish
/// writes them. Thread-safe. Errors: kInternal; kDiskFull and kIo where an encoder works on a disk.
class BatchWriter {
 public:
  virtual ~BatchWriter() = default;
  virtual Result<std::string> encode(const BatchFile& file) = 0;
  /// Zero rows, exactly these columns in this order, all VARCHAR (the anchor).
  virtual Result<std::string> encode_empty(std::span<const std::string> columns) = 0;
};

/// kInternal, for whoever runs the server: an encoder was given, or made, what cannot be a file.
Error cannot_encode(std::string detail);
/// What a file's columns may not be called: nothing, with a NUL, or alike but for ASCII case, for
/// DuckDB would rename the second of two without an error. kInternal, as the parser and the
/// registry let none of these through.
Result<void> check_column_names(std::span<const std::string_view> names);

/// Strata's own encoder, one per thread that encodes at the moment.
std::unique_ptr<BatchWriter> make_batch_writer();

}  // namespace strata::parquet
