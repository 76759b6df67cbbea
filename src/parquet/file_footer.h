#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "parquet/batch_writer.h"
#include "parquet/column_encoder.h"

/// Writing what parse_footer() reads; private to this folder.
namespace strata::parquet {

struct FooterContent {
  std::span<const std::string_view> names;
  /// One per name; none at all in a file without rows, which then has no row group.
  std::span<const ColumnChunk> chunks;
  std::uint64_t rows = 0;
  const KeyValues& key_values;
};

/// Appends FileMetaData, its length and the magic (parquet.thrift).
void append_footer(const FooterContent& content, std::string& out);

}  // namespace strata::parquet
