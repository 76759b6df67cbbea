#pragma once

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

/// One column of text cells to one Parquet column chunk; private to this folder.
namespace strata::parquet {

/// The cells of a column that are not NULL: `texts[i]` is that of row `rows[i]`, ascending.
struct ColumnCells {
  std::span<const std::uint32_t> rows;
  std::span<const std::string_view> texts;
  std::uint64_t row_count = 0;
};

/// Bounds of the cells, cut to kStatisticsBytesMax. No value: there is none, or no short one.
struct Bound {
  std::string text;
  bool exact = true;
};

/// What the footer says of a chunk. Offsets count from the beginning of `out`.
struct ColumnChunk {
  std::optional<std::uint64_t> dictionary_offset;
  std::uint64_t data_offset = 0;
  std::uint64_t values = 0;  // rows, NULLs among them
  std::uint64_t nulls = 0;
  std::uint64_t uncompressed_bytes = 0;  // page headers included
  std::uint64_t compressed_bytes = 0;
  bool zstd = false;
  std::optional<Bound> smallest;
  std::optional<Bound> largest;
};

/// Level 3 makes a batch of text 1 % smaller.
inline constexpr int kZstdLevel = 1;
/// Longer bounds are cut: a reader prunes by them and does not answer with them.
inline constexpr std::size_t kStatisticsBytesMax = 64;

/// Encodes columns one after the other; what it allocates is kept for the next one. Not
/// thread-safe.
class ColumnEncoder {
 public:
  ColumnEncoder();

  /// Appends the chunk's pages to `out`. kInternal: zstd failed.
  Result<ColumnChunk> encode(const ColumnCells& cells, std::string& out);
  /// A column that has `text` in every row: one page, whatever their number.
  ColumnChunk encode_constant(std::string_view text, std::uint64_t row_count, std::string& out);

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  /// Some rows of the column, and those of its cells that are in them.
  struct PageRange {
    std::uint64_t first_row = 0;
    std::uint64_t end_row = 0;
    std::size_t first_cell = 0;
    std::size_t end_cell = 0;
  };
  enum class PageKind : std::uint8_t { kDictionary, kPlain, kIndices };

  bool find_dictionary(const ColumnCells& cells);
  void set_bounds(std::span<const std::string_view> texts, ColumnChunk& chunk) const;
  Result<void> write_pages(const ColumnCells& cells, ColumnChunk& chunk, std::string& out);
  Result<void> write_dictionary(ColumnChunk& chunk, std::string& out);
  PageRange next_page(const ColumnCells& cells, const PageRange& before) const;
  void fill_page(const ColumnCells& cells, const PageRange& range);
  void append_levels(const ColumnCells& cells, const PageRange& range);
  /// page_ with its header.
  Result<void> write_page(PageKind kind, std::uint64_t values, ColumnChunk& chunk,
                          std::string& out);
  void store_page(PageKind kind, std::uint64_t values, std::string_view stored, ColumnChunk& chunk,
                  std::string& out);
  Result<std::string_view> compress();

  std::unique_ptr<ZSTD_CCtx, FreeContext> zstd_;
  std::string page_;                          // as it is
  std::string compressed_;                    // as it is stored
  std::vector<std::uint32_t> slots_;          // hash table over dictionary_: index + 1, or 0
  std::vector<std::string_view> dictionary_;  // in order of first appearance
  std::vector<std::uint32_t> indices_;        // of the cells, into dictionary_
  bool by_dictionary_ = false;
};

}  // namespace strata::parquet
