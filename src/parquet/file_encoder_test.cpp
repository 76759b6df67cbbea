#include "parquet/file_encoder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "parquet/footer.h"

namespace {

thread_local std::uint64_t allocations = 0;

}  // namespace

// Counted, for the test of what a batch allocates.
// Not inlined: the compiler would take the pair for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* bytes = std::malloc(size == 0 ? 1 : size)) return bytes;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* bytes) noexcept { std::free(bytes); }
[[gnu::noinline]] void operator delete(void* bytes, std::size_t) noexcept { std::free(bytes); }

namespace strata::parquet {
namespace {

const KeyValues kKeyValues = {{"batch_id", "b-1"}, {"file_sha256", file_sha256_placeholder()}};

CellTable readings(std::size_t rows) {
  CellTable cells;
  cells.columns = {"sensor", "value", "note"};
  for (std::size_t row = 0; row < rows; ++row) {
    cells.fields.push_back({0, cells.arena.emplace_back("s" + std::to_string(row % 7))});
    cells.fields.push_back({1, cells.arena.emplace_back(std::to_string(row * 31))});
    if (row % 3 == 0) cells.fields.push_back({2, "seen"});
    cells.row_ends.push_back(cells.fields.size());
  }
  return cells;
}

Result<std::string> encode(FileEncoder& encoder, const CellTable& cells) {
  return encoder.encode(
      {.cells = cells, .stored_names = cells.columns, .batch_id = "b-1", .key_values = kKeyValues});
}

TEST(FileEncoder, TheFooterSaysWhatIsInTheFile) {
  FileEncoder encoder;
  const auto file = encode(encoder, readings(10));
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->starts_with("PAR1"));
  const auto footer = parse_footer(*file, file->size());
  ASSERT_TRUE(footer) << footer.error().detail;
  EXPECT_EQ(footer->rows, 10U);
  EXPECT_EQ(footer->columns, (std::vector<std::string>{"sensor", "value", "note", "_batch_id"}));
  EXPECT_EQ(footer->key_values, kKeyValues);
  ASSERT_TRUE(footer->file_sha256_offset);
  EXPECT_EQ(file->substr(*footer->file_sha256_offset, 64), file_sha256_placeholder());
}

TEST(FileEncoder, AFileWithoutRowsHasItsColumns) {
  FileEncoder encoder;
  const auto file = encoder.encode_empty(std::vector<std::string>{"a", "b", "_batch_id"});
  ASSERT_TRUE(file);
  const auto footer = parse_footer(*file, file->size());
  ASSERT_TRUE(footer) << footer.error().detail;
  EXPECT_EQ(footer->rows, 0U);
  EXPECT_EQ(footer->columns, (std::vector<std::string>{"a", "b", "_batch_id"}));
}

TEST(FileEncoder, EqualInputGivesEqualBytesWhateverWasEncodedBefore) {
  FileEncoder fresh;
  FileEncoder used;
  ASSERT_TRUE(encode(used, readings(5000)));
  EXPECT_EQ(encode(used, readings(10)).value(), encode(fresh, readings(10)).value());
}

TEST(FileEncoder, WhatABatchAllocatesDoesNotGrowWithItsRows) {
  const auto count = [](FileEncoder& encoder, const CellTable& cells) {
    const std::uint64_t before = allocations;
    EXPECT_TRUE(encode(encoder, cells));
    return allocations - before;
  };
  FileEncoder encoder;
  const CellTable few = readings(100);
  const CellTable many = readings(100'000);
  count(encoder, many);
  EXPECT_EQ(count(encoder, many), count(encoder, few));
  EXPECT_LT(count(encoder, few), 40U);
}

TEST(FileEncoder, NamesThatNoReaderCouldTellApartAreRefused) {
  FileEncoder encoder;
  const auto refuses = [&](std::vector<std::string> columns) {
    CellTable cells;
    cells.columns = std::move(columns);
    cells.row_ends.push_back(0);
    const auto file = encode(encoder, cells);
    return !file && file.error().code == Code::kInternal;
  };
  EXPECT_TRUE(refuses({"a", "A"}));
  EXPECT_TRUE(refuses({"_Batch_Id"}));
  EXPECT_TRUE(refuses({""}));
  EXPECT_TRUE(refuses({std::string("a\0b", 3)}));
  EXPECT_FALSE(refuses({"a", "b"}));
}

}  // namespace
}  // namespace strata::parquet
