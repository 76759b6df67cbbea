#include "parquet/column_encoder.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "base/check.h"
#include "base/little_endian.h"
#include "parquet/compact_writer.h"
#include "parquet/format.h"
#include "parquet/run_encoder.h"
#include "parquet/varint.h"

namespace strata::parquet {
namespace {

/// A page a reader decompresses at once; a chunk has as many as it needs.
constexpr std::uint64_t kPageBytes = 1024UL * 1024;
/// A page of indices or of NULLs is small however many rows it has.
constexpr std::uint64_t kPageRows = 1UL << 20U;
constexpr std::uint64_t kLengthBytes = 4;
/// A larger dictionary costs a reader more than it saves.
constexpr std::uint64_t kDictionaryBytesMax = 1024UL * 1024;
/// Past so many cells a column that hardly repeats itself is not looked at to its end.
constexpr std::size_t kSampledCells = 8192;
/// Measured on batches of 100 rows by 5 columns: below this zstd takes more time than all else of
/// the encoding, to save a block of a file that costs an inode and two names anyhow.
constexpr std::uint64_t kCompressedBytesMin = 2048;

std::uint64_t plain_bytes(std::string_view text) { return kLengthBytes + text.size(); }

void append_plain(std::string& out, std::string_view text) {
  append_length(out, text.size());
  out.append(text);
}

/// Of the bytes from `begin` to the end, into the length that stands before them.
void set_length(std::string& page, std::size_t begin) {
  std::ranges::copy(little_endian_32(page.size() - begin),
                    page.begin() + static_cast<std::ptrdiff_t>(begin - kLengthBytes));
}

/// `text` up to the last whole UTF-8 character within the cut.
std::string_view cut(std::string_view text) {
  if (text.size() <= kStatisticsBytesMax) return text;
  std::size_t end = kStatisticsBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

/// The cut of the largest is smaller than it: its last ASCII character goes up by one.
std::optional<Bound> bound_above(std::string_view text) {
  const std::string_view kept = cut(text);
  if (kept.size() == text.size()) return Bound{std::string(text), true};
  std::string above(kept);
  while (!above.empty() && static_cast<unsigned char>(above.back()) >= 0x7EU) above.pop_back();
  if (above.empty()) return std::nullopt;
  ++above.back();
  return Bound{std::move(above), false};
}

Bound bound_below(std::string_view text) {
  const std::string_view kept = cut(text);
  return {std::string(kept), kept.size() == text.size()};
}

}  // namespace

ColumnEncoder::ColumnEncoder() : zstd_(ZSTD_createCCtx()) { STRATA_CHECK(zstd_ != nullptr); }

Result<ColumnChunk> ColumnEncoder::encode(const ColumnCells& cells, std::string& out) {
  ColumnChunk chunk;
  chunk.values = cells.row_count;
  chunk.nulls = cells.row_count - cells.rows.size();
  by_dictionary_ = find_dictionary(cells);
  set_bounds(by_dictionary_ ? std::span<const std::string_view>(dictionary_) : cells.texts, chunk);
  std::uint64_t bytes = 0;
  for (const std::string_view text : by_dictionary_ ? dictionary_ : cells.texts) {
    bytes += plain_bytes(text);
  }
  const std::size_t begin = out.size();
  ColumnChunk stored = chunk;
  stored.zstd = bytes >= kCompressedBytesMin;
  STRATA_RETURN_IF_ERROR(write_pages(cells, stored, out));
  if (!stored.zstd || stored.compressed_bytes < stored.uncompressed_bytes) return stored;
  // It did not shrink: as it is, it is read faster.
  out.resize(begin);
  STRATA_RETURN_IF_ERROR(write_pages(cells, chunk, out));
  return chunk;
}

/// Fills dictionary_ and indices_. False: the column is smaller without.
bool ColumnEncoder::find_dictionary(const ColumnCells& cells) {
  const std::size_t count = cells.texts.size();
  if (count == 0) return false;
  dictionary_.clear();
  indices_.clear();
  indices_.reserve(count);
  slots_.assign(std::bit_ceil(2 * count), 0);
  const std::size_t mask = slots_.size() - 1;
  std::uint64_t plain = 0;
  std::uint64_t distinct = 0;
  for (const std::string_view text : cells.texts) {
    std::size_t slot = std::hash<std::string_view>{}(text)&mask;
    while (slots_[slot] != 0 && dictionary_[slots_[slot] - 1] != text) slot = (slot + 1) & mask;
    if (slots_[slot] == 0) {
      dictionary_.push_back(text);
      slots_[slot] = static_cast<std::uint32_t>(dictionary_.size());
      distinct += plain_bytes(text);
      if (distinct > kDictionaryBytesMax) return false;
    }
    indices_.push_back(slots_[slot] - 1);
    plain += plain_bytes(text);
    if (indices_.size() >= kSampledCells && 2 * dictionary_.size() > indices_.size()) return false;
  }
  return distinct + count * index_bit_width(dictionary_.size()) / 8 < plain * 9 / 10;
}

void ColumnEncoder::set_bounds(std::span<const std::string_view> texts, ColumnChunk& chunk) const {
  if (texts.empty()) return;
  const auto [smallest, largest] = std::ranges::minmax(texts);
  chunk.largest = bound_above(largest);
  // A reader that finds one bound only may take the other for the empty text.
  if (chunk.largest) chunk.smallest = bound_below(smallest);
}

Result<void> ColumnEncoder::write_pages(const ColumnCells& cells, ColumnChunk& chunk,
                                        std::string& out) {
  if (by_dictionary_) {
    STRATA_RETURN_IF_ERROR(write_dictionary(chunk, out));
  }
  chunk.data_offset = out.size();
  PageRange range;
  while (range.end_row < cells.row_count) {
    range = next_page(cells, range);
    page_.clear();
    fill_page(cells, range);
    STRATA_RETURN_IF_ERROR(write_page(by_dictionary_ ? PageKind::kIndices : PageKind::kPlain,
                                      range.end_row - range.first_row, chunk, out));
  }
  return {};
}

Result<void> ColumnEncoder::write_dictionary(ColumnChunk& chunk, std::string& out) {
  chunk.dictionary_offset = out.size();
  page_.clear();
  for (const std::string_view text : dictionary_) append_plain(page_, text);
  return write_page(PageKind::kDictionary, dictionary_.size(), chunk, out);
}

ColumnEncoder::PageRange ColumnEncoder::next_page(const ColumnCells& cells,
                                                  const PageRange& before) const {
  PageRange range{.first_row = before.end_row,
                  .end_row = std::min(cells.row_count, before.end_row + kPageRows),
                  .first_cell = before.end_cell,
                  .end_cell = before.end_cell};
  std::uint64_t bytes = 0;
  for (; range.end_cell < cells.rows.size(); ++range.end_cell) {
    const std::uint32_t row = cells.rows[range.end_cell];
    if (row >= range.end_row) break;
    if (bytes >= kPageBytes) {
      range.end_row = row;
      break;
    }
    bytes += by_dictionary_ ? 0 : plain_bytes(cells.texts[range.end_cell]);
  }
  return range;
}

void ColumnEncoder::fill_page(const ColumnCells& cells, const PageRange& range) {
  append_levels(cells, range);
  if (!by_dictionary_) {
    for (std::size_t cell = range.first_cell; cell < range.end_cell; ++cell) {
      append_plain(page_, cells.texts[cell]);
    }
    return;
  }
  const unsigned bit_width = index_bit_width(dictionary_.size());
  page_.push_back(static_cast<char>(bit_width));
  RunEncoder indices(page_, bit_width);
  for (std::size_t cell = range.first_cell; cell < range.end_cell; ++cell) {
    indices.put(indices_[cell]);
  }
  indices.finish();
}

/// Definition levels: 1 where a row has a cell, 0 where it is NULL.
void ColumnEncoder::append_levels(const ColumnCells& cells, const PageRange& range) {
  append_length(page_, 0);
  const std::size_t begin = page_.size();
  RunEncoder levels(page_, 1);
  std::uint64_t row = range.first_row;
  if (range.end_cell - range.first_cell == range.end_row - range.first_row) {
    levels.put(1, range.end_row - row);
  } else {
    for (std::size_t cell = range.first_cell; cell < range.end_cell; ++cell) {
      levels.put(0, cells.rows[cell] - row);
      levels.put(1);
      row = cells.rows[cell] + std::uint64_t{1};
    }
    levels.put(0, range.end_row - row);
  }
  levels.finish();
  set_length(page_, begin);
}

Result<std::string_view> ColumnEncoder::compress() {
  const std::size_t bound = ZSTD_compressBound(page_.size());
  if (compressed_.size() < bound) compressed_.resize(bound);
  const std::size_t size = ZSTD_compressCCtx(zstd_.get(), compressed_.data(), compressed_.size(),
                                             page_.data(), page_.size(), kZstdLevel);
  if (ZSTD_isError(size) != 0) {
    return make_error(Code::kInternal, "The batch could not be encoded, nothing is stored.",
                      ZSTD_getErrorName(size));
  }
  return std::string_view(compressed_).substr(0, size);
}

Result<void> ColumnEncoder::write_page(PageKind kind, std::uint64_t values, ColumnChunk& chunk,
                                       std::string& out) {
  std::string_view stored = page_;
  if (chunk.zstd) {
    STRATA_ASSIGN_OR_RETURN(stored, compress());
  }
  store_page(kind, values, stored, chunk, out);
  return {};
}

/// PageHeader of parquet.thrift, then the page.
void ColumnEncoder::store_page(PageKind kind, std::uint64_t values, std::string_view stored,
                               ColumnChunk& chunk, std::string& out) {
  const auto* bytes = reinterpret_cast<const Bytef*>(stored.data());
  const auto crc = static_cast<std::int32_t>(crc32_z(0, bytes, stored.size()));
  const std::size_t begin = out.size();
  CompactWriter header(out);
  header.begin_struct();
  header.i32(1, kind == PageKind::kDictionary ? kDictionaryPage : kDataPage);
  header.i32(2, static_cast<std::int64_t>(page_.size()));
  header.i32(3, static_cast<std::int64_t>(stored.size()));
  header.i32(4, crc);
  header.structure(kind == PageKind::kDictionary ? 7 : 5);
  header.i32(1, static_cast<std::int64_t>(values));
  header.i32(2, kind == PageKind::kIndices ? kDictionaryIndices : kPlain);
  if (kind != PageKind::kDictionary) {
    header.i32(3, kRunLength);  // definition levels
    header.i32(4, kRunLength);  // repetition levels: there are none
  }
  header.end_struct();
  header.end_struct();
  const std::size_t header_bytes = out.size() - begin;
  out.append(stored);
  chunk.uncompressed_bytes += header_bytes + page_.size();
  chunk.compressed_bytes += header_bytes + stored.size();
}

ColumnChunk ColumnEncoder::encode_constant(std::string_view text, std::uint64_t row_count,
                                           std::string& out) {
  ColumnChunk chunk;
  chunk.values = row_count;
  chunk.dictionary_offset = out.size();
  page_.clear();
  append_plain(page_, text);
  store_page(PageKind::kDictionary, 1, page_, chunk, out);

  chunk.data_offset = out.size();
  page_.clear();
  append_length(page_, 0);
  const std::size_t begin = page_.size();
  RunEncoder levels(page_, 1);
  levels.put(1, row_count);
  levels.finish();
  set_length(page_, begin);
  page_.push_back('\1');  // the indices' bit width
  RunEncoder indices(page_, 1);
  indices.put(0, row_count);
  indices.finish();
  store_page(PageKind::kIndices, row_count, page_, chunk, out);
  chunk.largest = bound_above(text);
  if (chunk.largest) chunk.smallest = bound_below(text);
  return chunk;
}

}  // namespace strata::parquet
