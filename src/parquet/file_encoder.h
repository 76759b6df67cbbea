#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cells.h"
#include "base/error.h"
#include "parquet/batch_writer.h"
#include "parquet/column_encoder.h"

namespace strata::parquet {

/// Strata's own encoder: V1 pages, one row group, every column an optional UTF-8 byte array,
/// dictionaries and zstd where they pay, bounds, page CRCs. Keeps its buffers for the next batch,
/// so that the number of a batch's allocations does not grow with its rows. Equal input gives equal
/// bytes. Not thread-safe.
class FileEncoder {
 public:
  /// The file's bytes. kInternal: names that no reader could tell apart, or zstd failed.
  Result<std::string> encode(const BatchFile& file);
  Result<std::string> encode_empty(std::span<const std::string> columns);

 private:
  void sort_by_column(const CellTable& cells);
  Result<void> encode_columns(const BatchFile& file, std::string& out);

  ColumnEncoder column_;
  std::vector<std::string_view> names_;
  std::vector<ColumnChunk> chunks_;  // none in a file without rows
  // The fields of a batch, column by column: those of column c are [ends_[c - 1], ends_[c]).
  std::vector<std::size_t> ends_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::string_view> texts_;
};

}  // namespace strata::parquet
