#include "duck/copy_batch_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cells.h"
#include "base/ids.h"
#include "duck/cells_function.h"
#include "duck/memory_budget.h"
#include "duck/sql.h"
#include "duck/writer_instances.h"

namespace strata::duck {
namespace {

// DuckDB holds one row group as 16 bytes a cell, NULL or not, before it writes it: a bound on its
// cells bounds memory.
constexpr std::size_t kRowGroupCells = 4 * 1024 * 1024;
constexpr std::size_t kRowGroupRowsMax = 122'880;  // DuckDB's default
constexpr std::size_t kChunkRows = 2'048;          // a row group is whole chunks

// DuckDB allocates a dictionary for each column of a row group, used or not, and grows it up to the
// limit it is given; a column with more distinct text than that is stored plain.
constexpr std::size_t kDictionaryBytesTotal = 32 * 1024 * 1024;
constexpr std::size_t kDictionaryBytesMax = 1024 * 1024;

// What a write takes of DuckDB's memory, measured by the lowest memory_limit under which twelve
// shapes of batch succeed; the estimate lies above each of them.
constexpr std::uint64_t kBytesPerWrite = 16 * 1024 * 1024;
constexpr std::uint64_t kBytesPerColumn = 48 * 1024;  // and its dictionary
constexpr std::uint64_t kBytesPerCell = 32;           // of one row group
constexpr std::uint64_t kCopiesOfText = 3;

struct FileLayout {
  std::size_t row_group_rows = 0;
  std::size_t dictionary_bytes = 0;
  std::uint64_t memory_bytes = 0;
};

FileLayout layout_of(const CellSource& source) {
  const std::size_t columns = source.column_count();
  const std::size_t chunks = (kRowGroupCells / columns + kChunkRows / 2) / kChunkRows;
  FileLayout layout;
  layout.row_group_rows = std::clamp(chunks * kChunkRows, kChunkRows, kRowGroupRowsMax);
  layout.dictionary_bytes = std::min(kDictionaryBytesTotal / columns, kDictionaryBytesMax);

  const std::size_t rows = std::min(layout.row_group_rows, source.cells.row_count());
  std::uint64_t text_bytes = source.batch_id.size() * rows;
  for (const Field& field : source.cells.fields) text_bytes += field.text.size();
  layout.memory_bytes = kBytesPerWrite + columns * (kBytesPerColumn + layout.dictionary_bytes) +
                        columns * rows * kBytesPerCell + text_bytes * kCopiesOfText;
  return layout;
}

Result<void> check_names(const CellSource& source) {
  std::vector<std::string_view> names(source.names.begin(), source.names.end());
  if (!source.batch_id_column.empty()) names.push_back(source.batch_id_column);
  return parquet::check_column_names(names);
}

Sql copy_statement(std::uint64_t slot, const FileLayout& layout,
                   const parquet::KeyValues& key_values, const std::string& path) {
  Sql sql("COPY (SELECT * FROM strata_cells(");
  sql.number(slot).raw(")) TO ").literal(path);
  // No temporary name: what is under `path` is this attempt's own, and nothing else is written.
  sql.raw(" (FORMAT PARQUET, COMPRESSION zstd, PARQUET_VERSION V1, USE_TMP_FILE false");
  sql.raw(", ROW_GROUP_SIZE ").number(layout.row_group_rows);
  sql.raw(", STRING_DICTIONARY_PAGE_SIZE_LIMIT ").number(layout.dictionary_bytes);
  if (!key_values.empty()) {
    sql.raw(", KV_METADATA {");
    for (std::size_t index = 0; index < key_values.size(); ++index) {
      if (index > 0) sql.raw(", ");
      sql.ident(key_values[index].first).raw(": ").literal(key_values[index].second);
    }
    sql.raw("}");
  }
  sql.raw(")");
  return sql;
}

class DuckBatchWriter final : public CopyBatchWriter {
 public:
  explicit DuckBatchWriter(const CopyBatchWriterOptions& options)
      : scratch_folder_(options.scratch_folder.empty()
                            ? std::filesystem::temp_directory_path().string()
                            : options.scratch_folder),
        memory_(options.memory_bytes),
        instances_(options.memory_bytes) {}

  /// Opens the instance, so that what cannot work is told at start and not to a producer.
  Result<void> start() { return instances_.run(Sql("SELECT 1")); }

  Result<void> write(const parquet::BatchFile& file, const std::string& path) override {
    if (file.stored_names.size() != file.cells.columns.size()) {
      return parquet::cannot_encode("stored_names and cells.columns differ in length");
    }
    const CellSource source{.names = file.stored_names,
                            .cells = file.cells,
                            .batch_id_column = std::string(parquet::kBatchIdColumn),
                            .batch_id = file.batch_id};
    return write_source(source, file.key_values, path);
  }

  Result<void> write_empty(std::span<const std::string> columns, const std::string& path) override {
    const CellTable no_rows;
    const CellSource source{
        .names = columns, .cells = no_rows, .batch_id_column = {}, .batch_id = {}};
    return write_source(source, {}, path);
  }

  Result<std::string> encode(const parquet::BatchFile& file) override {
    const std::string path = scratch_path();
    STRATA_RETURN_IF_ERROR(write(file, path));
    return take(path);
  }

  Result<std::string> encode_empty(std::span<const std::string> columns) override {
    const std::string path = scratch_path();
    STRATA_RETURN_IF_ERROR(write_empty(columns, path));
    return take(path);
  }

 private:
  std::string scratch_path() const {
    return scratch_folder_ + "/strata-copy-" + random_hex(16) + ".parquet";
  }

  /// The bytes of a file that was written for them alone.
  static Result<std::string> take(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(in), {});
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    if (!in || bytes.empty())
      return parquet::cannot_encode("what COPY wrote could not be read back");
    return bytes;
  }

  Result<void> write_source(const CellSource& source, const parquet::KeyValues& key_values,
                            const std::string& path) {
    STRATA_RETURN_IF_ERROR(check_names(source));
    std::error_code ignored;  // a path that cannot be looked at cannot be written: COPY says why
    if (std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) {
      return parquet::cannot_encode("something is under " + path + " already");
    }
    const FileLayout layout = layout_of(source);
    const MemoryBudget::Share share(memory_, layout.memory_bytes);
    const CellSlots::Slot slot(instances_.slots(), source);
    Result<void> done = instances_.run(
        copy_statement(static_cast<std::uint64_t>(slot.number()), layout, key_values, path));
    if (!done) std::filesystem::remove(path, ignored);  // start-up sweeps what is left
    return done;
  }

  const std::string scratch_folder_;
  MemoryBudget memory_;  // wide batches wait for each other instead of failing each other
  WriterInstances instances_;
};

}  // namespace

Result<std::unique_ptr<CopyBatchWriter>> make_copy_batch_writer(
    const CopyBatchWriterOptions& options) {
  auto writer = std::make_unique<DuckBatchWriter>(options);
  STRATA_RETURN_IF_ERROR(writer->start());
  return writer;
}

}  // namespace strata::duck
