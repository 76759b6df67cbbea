#include "parquet/column_statistics.h"

#include <utility>

#include "parquet/compact_reader.h"
#include "parquet/footer.h"

namespace strata::parquet {
namespace {

constexpr std::size_t kEndBytes = 8;  // the footer's length and the magic

/// One chunk of parquet.thrift's ColumnMetaData; views point into the tail.
struct Chunk {
  std::string_view name;
  std::uint64_t values = 0;
  std::optional<std::uint64_t> nulls;
  struct Value {
    std::string_view text;
    bool there = false;
  };
  Value smallest;
  Value largest;
};

std::uint64_t count(CompactReader& reader) {
  const std::int64_t number = reader.integer();
  if (number < 0) reader.fail();
  return number < 0 ? 0 : static_cast<std::uint64_t>(number);
}

/// Statistics: 3 null_count, 5 max_value, 6 min_value, 7 is_max_value_exact, which files of writers
/// that never cut leave out.
void read_statistics(CompactReader& reader, Chunk& chunk) {
  bool largest_exact = true;
  for (auto field = reader.field(0); field.type != CompactType::kStop;
       field = reader.field(field.id)) {
    if (field.id == 3) {
      reader.expect(field.type, CompactType::kI64);
      chunk.nulls = count(reader);
    } else if (field.id == 5 || field.id == 6) {
      reader.expect(field.type, CompactType::kBinary);
      (field.id == 5 ? chunk.largest : chunk.smallest) = {reader.binary(), true};
    } else if (field.id == 7) {
      largest_exact = field.type == CompactType::kTrue;
      reader.skip(field.type);
    } else {
      reader.skip(field.type);
    }
  }
  chunk.largest.there = chunk.largest.there && largest_exact;
}

/// A path of one name; a nested column has none of Strata's names.
std::string_view read_path(CompactReader& reader) {
  const std::uint64_t size = reader.list_size(CompactType::kBinary);
  std::string_view name;
  for (std::uint64_t index = 0; index < size && !reader.failed(); ++index) name = reader.binary();
  return size == 1 ? name : std::string_view();
}

/// ColumnMetaData: 3 path_in_schema, 5 num_values, 12 statistics.
void read_column_meta_data(CompactReader& reader, Chunk& chunk) {
  for (auto field = reader.field(0); field.type != CompactType::kStop;
       field = reader.field(field.id)) {
    if (field.id == 3) {
      reader.expect(field.type, CompactType::kList);
      chunk.name = read_path(reader);
    } else if (field.id == 5) {
      reader.expect(field.type, CompactType::kI64);
      chunk.values = count(reader);
    } else if (field.id == 12) {
      reader.expect(field.type, CompactType::kStruct);
      read_statistics(reader, chunk);
    } else {
      reader.skip(field.type);
    }
  }
}

void add(std::map<std::string, ColumnStatistics>& columns, const Chunk& chunk) {
  ColumnStatistics& column = columns[std::string(chunk.name)];
  column.values += chunk.values;
  if (column.nulls && chunk.nulls) {
    *column.nulls += *chunk.nulls;
  } else {
    column.nulls.reset();
  }
  if (!column.smallest && chunk.smallest.there) column.smallest = std::string(chunk.smallest.text);
  if (!column.largest && chunk.largest.there) column.largest = std::string(chunk.largest.text);
}

/// Reads a struct of which one field alone matters, with `read`.
template <typename Read>
void read_one_field(CompactReader& reader, std::int64_t id, CompactType type, Read read) {
  for (auto field = reader.field(0); field.type != CompactType::kStop;
       field = reader.field(field.id)) {
    if (field.id != id) {
      reader.skip(field.type);
      continue;
    }
    reader.expect(field.type, type);
    if (!reader.failed()) read();
  }
}

/// Calls `read` for each struct of a list.
template <typename Read>
void read_each(CompactReader& reader, Read read) {
  const std::uint64_t size = reader.list_size(CompactType::kStruct);
  for (std::uint64_t index = 0; index < size && !reader.failed(); ++index) read();
}

}  // namespace

Result<std::map<std::string, ColumnStatistics>> parse_column_statistics(std::string_view tail) {
  const Error damaged = make_error(
      Code::kIo, "The Parquet file's footer is damaged; put a good copy of the file back.");
  if (tail.size() < kEndBytes) return damaged;
  STRATA_ASSIGN_OR_RETURN(const std::uint64_t size,
                          footer_tail_size(tail.substr(tail.size() - kEndBytes)));
  if (size > tail.size()) return damaged;
  CompactReader reader(tail.substr(tail.size() - size, size - kEndBytes));
  std::map<std::string, ColumnStatistics> columns;
  // FileMetaData 4: row groups; RowGroup 1: columns; ColumnChunk 3: its metadata.
  read_one_field(reader, 4, CompactType::kList, [&] {
    read_each(reader, [&] {
      read_one_field(reader, 1, CompactType::kList, [&] {
        read_each(reader, [&] {
          Chunk chunk;
          read_one_field(reader, 3, CompactType::kStruct,
                         [&] { read_column_meta_data(reader, chunk); });
          if (!reader.failed()) add(columns, chunk);
        });
      });
    });
  });
  if (reader.failed() || !reader.at_end()) return damaged;
  return columns;
}

}  // namespace strata::parquet
