#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parquet/compact_reader.h"

namespace strata::parquet {

/// Writes Thrift's compact protocol at the end of a string. What CompactReader reads. A struct's
/// fields are written in ascending order of their ids, which are below 16 apart.
class CompactWriter {
 public:
  explicit CompactWriter(std::string& out) : out_(out) {}

  void begin_struct();
  void end_struct();
  void i16(std::int16_t id, std::int64_t value) { number(id, CompactType::kI16, value); }
  void i32(std::int16_t id, std::int64_t value) { number(id, CompactType::kI32, value); }
  void i64(std::int16_t id, std::int64_t value) { number(id, CompactType::kI64, value); }
  void boolean(std::int16_t id, bool value);
  void binary(std::int16_t id, std::string_view bytes);
  /// A struct as a field; closed by end_struct().
  void structure(std::int16_t id);
  /// Followed by `size` elements: structs by begin_struct(), others by the element_ calls.
  void list(std::int16_t id, CompactType type, std::uint64_t size);
  void element_i32(std::int64_t value) { zigzag(value); }
  void element_binary(std::string_view bytes);

 private:
  /// Nesting of Parquet's metadata: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData,
  /// Statistics.
  static constexpr int kDepthMax = 8;

  void field(std::int16_t id, CompactType type);
  void number(std::int16_t id, CompactType type, std::int64_t value);
  void zigzag(std::int64_t value);

  std::string& out_;
  std::int16_t previous_[kDepthMax] = {};
  int depth_ = -1;
};

}  // namespace strata::parquet
