#include "parquet/file_footer.h"

#include "parquet/compact_writer.h"
#include "parquet/format.h"
#include "parquet/varint.h"

namespace strata::parquet {
namespace {

constexpr std::string_view kRootName = "strata";
constexpr std::string_view kCreatedBy = "strata version 1.0.0";

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

void write_schema(std::span<const std::string_view> names, CompactWriter& out) {
  out.list(2, CompactType::kStruct, names.size() + 1);
  out.begin_struct();
  out.binary(4, kRootName);
  out.i32(5, number(names.size()));
  out.end_struct();
  for (const std::string_view name : names) {
    out.begin_struct();
    out.i32(1, kByteArray);
    out.i32(3, kOptional);
    out.binary(4, name);
    out.i32(6, kUtf8);
    out.structure(10);  // LogicalType: the member 1 of the union is STRING
    out.structure(1);
    out.end_struct();
    out.end_struct();
    out.end_struct();
  }
}

void write_statistics(const ColumnChunk& chunk, CompactWriter& out) {
  out.structure(12);
  out.i64(3, number(chunk.nulls));
  if (chunk.largest) out.binary(5, chunk.largest->text);
  if (chunk.smallest) out.binary(6, chunk.smallest->text);
  if (chunk.largest) out.boolean(7, chunk.largest->exact);
  if (chunk.smallest) out.boolean(8, chunk.smallest->exact);
  out.end_struct();
}

/// ColumnChunk with its ColumnMetaData.
void write_chunk(std::string_view name, const ColumnChunk& chunk, CompactWriter& out) {
  out.begin_struct();
  out.i64(2, 0);  // file_offset, which readers were told to ignore
  out.structure(3);
  out.i32(1, kByteArray);
  out.list(2, CompactType::kI32, 2);
  out.element_i32(kRunLength);
  out.element_i32(chunk.dictionary_offset ? kDictionaryIndices : kPlain);
  out.list(3, CompactType::kBinary, 1);
  out.element_binary(name);
  out.i32(4, chunk.zstd ? kZstd : kUncompressed);
  out.i64(5, number(chunk.values));
  out.i64(6, number(chunk.uncompressed_bytes));
  out.i64(7, number(chunk.compressed_bytes));
  out.i64(9, number(chunk.data_offset));
  if (chunk.dictionary_offset) out.i64(11, number(*chunk.dictionary_offset));
  write_statistics(chunk, out);
  out.end_struct();
  out.end_struct();
}

void write_row_group(const FooterContent& content, CompactWriter& out) {
  std::uint64_t uncompressed = 0;
  std::uint64_t compressed = 0;
  for (const ColumnChunk& chunk : content.chunks) {
    uncompressed += chunk.uncompressed_bytes;
    compressed += chunk.compressed_bytes;
  }
  out.begin_struct();
  out.list(1, CompactType::kStruct, content.chunks.size());
  for (std::size_t index = 0; index < content.chunks.size(); ++index) {
    write_chunk(content.names[index], content.chunks[index], out);
  }
  out.i64(2, number(uncompressed));
  out.i64(3, number(content.rows));
  out.i64(5, number(kMagic.size()));  // where the group begins
  out.i64(6, number(compressed));
  out.end_struct();
}

void write_key_values(const KeyValues& key_values, CompactWriter& out) {
  if (key_values.empty()) return;
  out.list(5, CompactType::kStruct, key_values.size());
  for (const auto& [key, value] : key_values) {
    out.begin_struct();
    out.binary(1, key);
    out.binary(2, value);
    out.end_struct();
  }
}

/// Bounds count only where the order they follow is named: TYPE_ORDER, which is that of bytes.
void write_column_orders(std::size_t count, CompactWriter& out) {
  out.list(7, CompactType::kStruct, count);
  for (std::size_t index = 0; index < count; ++index) {
    out.begin_struct();
    out.structure(1);
    out.end_struct();
    out.end_struct();
  }
}

}  // namespace

void append_footer(const FooterContent& content, std::string& out) {
  const std::size_t begin = out.size();
  CompactWriter writer(out);
  writer.begin_struct();
  writer.i32(1, 1);  // the format's version
  write_schema(content.names, writer);
  writer.i64(3, number(content.rows));
  writer.list(4, CompactType::kStruct, content.chunks.empty() ? 0 : 1);
  if (!content.chunks.empty()) write_row_group(content, writer);
  write_key_values(content.key_values, writer);
  writer.binary(6, kCreatedBy);
  write_column_orders(content.names.size(), writer);
  writer.end_struct();
  append_length(out, out.size() - begin);
  out.append(kMagic);
}

}  // namespace strata::parquet
