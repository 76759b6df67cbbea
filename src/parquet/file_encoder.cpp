#include "parquet/file_encoder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "parquet/file_footer.h"
#include "parquet/format.h"

namespace strata::parquet {
namespace {

/// What a column adds to a file besides its cells: page headers, its entries in the footer.
constexpr std::size_t kBytesPerColumn = 256 + 2 * kStatisticsBytesMax;

/// No less than the file will need, for nearly every batch.
std::size_t file_size_guess(const BatchFile& file, std::span<const std::string_view> names) {
  std::size_t bytes = 4096;
  for (const std::string_view name : names) bytes += kBytesPerColumn + 2 * name.size();
  for (const auto& [key, value] : file.key_values) bytes += key.size() + value.size() + 8;
  for (const Field& field : file.cells.fields) bytes += field.text.size() + 6;
  return bytes;
}

}  // namespace

/// A counting sort: two passes over the fields, whatever the number of columns.
void FileEncoder::sort_by_column(const CellTable& cells) {
  ends_.assign(cells.columns.size() + 1, 0);
  for (const Field& field : cells.fields) ++ends_[field.column + 1];
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  rows_.resize(cells.fields.size());
  texts_.resize(cells.fields.size());
  // ends_[c] is where column c's next field goes, and its end once all are in place.
  for (std::size_t row = 0; row < cells.row_count(); ++row) {
    for (const Field& field : cells.row(row)) {
      const std::size_t at = ends_[field.column]++;
      rows_[at] = static_cast<std::uint32_t>(row);
      texts_[at] = field.text;
    }
  }
}

Result<void> FileEncoder::encode_columns(const BatchFile& file, std::string& out) {
  sort_by_column(file.cells);
  const std::uint64_t row_count = file.cells.row_count();
  const std::span<const std::uint32_t> rows(rows_);
  const std::span<const std::string_view> texts(texts_);
  std::size_t begin = 0;
  for (std::size_t column = 0; column < file.cells.columns.size(); ++column) {
    const std::size_t count = ends_[column] - begin;
    STRATA_ASSIGN_OR_RETURN(ColumnChunk chunk, column_.encode({.rows = rows.subspan(begin, count),
                                                               .texts = texts.subspan(begin, count),
                                                               .row_count = row_count},
                                                              out));
    chunks_.push_back(std::move(chunk));
    begin = ends_[column];
  }
  chunks_.push_back(column_.encode_constant(file.batch_id, row_count, out));
  return {};
}

Result<std::string> FileEncoder::encode(const BatchFile& file) {
  if (file.stored_names.size() != file.cells.columns.size()) {
    return cannot_encode("stored_names and cells.columns differ in length");
  }
  names_.assign(file.stored_names.begin(), file.stored_names.end());
  names_.push_back(kBatchIdColumn);
  STRATA_RETURN_IF_ERROR(check_column_names(names_));
  std::string out;
  out.reserve(file_size_guess(file, names_));
  out.append(kMagic);
  chunks_.clear();
  STRATA_RETURN_IF_ERROR(encode_columns(file, out));
  append_footer({.names = names_,
                 .chunks = chunks_,
                 .rows = file.cells.row_count(),
                 .key_values = file.key_values},
                out);
  return out;
}

Result<std::string> FileEncoder::encode_empty(std::span<const std::string> columns) {
  names_.assign(columns.begin(), columns.end());
  STRATA_RETURN_IF_ERROR(check_column_names(names_));
  std::string out(kMagic);
  append_footer({.names = names_, .chunks = {}, .rows = 0, .key_values = {}}, out);
  return out;
}

}  // namespace strata::parquet
