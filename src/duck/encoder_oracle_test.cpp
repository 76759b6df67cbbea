// Strata's own encoder against DuckDB: the same random batches through FileEncoder and through
// COPY, both read back by DuckDB and compared cell by cell, in order.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "duck/copy_batch_writer.h"
#include "duck/testing/parquet_reader.h"
#include "parquet/file_encoder.h"

namespace strata::duck {
namespace {

/// How one column of a random batch looks.
enum class Shape : std::uint8_t { kAllNull, kConstant, kFew, kDistinct, kEmpty, kSparse, kLong };
constexpr unsigned kShapes = 7;

const std::vector<std::string> kWords = {
    "",     "a",     "ab",         "\xc3\xa4",   "\xf0\x9f\x8c\x8a",
    "NULL", "1e309", "\"quoted\"", "line\nline", "\xff" + std::string()};

class RandomBatch {
 public:
  explicit RandomBatch(std::uint32_t seed) : random_(seed) {
    const std::size_t columns = 1 + random_() % (seed % 10 == 0 ? 300 : 8);
    const std::size_t rows = 1 + random_() % (seed % 7 == 0 ? 20'000 / columns : 200);
    std::vector<Shape> shapes;
    for (std::size_t column = 0; column < columns; ++column) {
      cells.columns.push_back("c" + std::to_string(column));
      shapes.push_back(static_cast<Shape>(random_() % kShapes));
    }
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::uint32_t column = 0; column < columns; ++column) add(shapes[column], column);
      cells.row_ends.push_back(cells.fields.size());
    }
  }

  CellTable cells;

 private:
  void put(std::uint32_t column, std::string text) {
    cells.fields.push_back({column, cells.arena.emplace_back(std::move(text))});
  }

  void add(Shape shape, std::uint32_t column) {
    switch (shape) {
      case Shape::kAllNull:
        return;
      case Shape::kConstant:
        return put(column, "constant");
      case Shape::kFew:
        return put(column, kWords[random_() % (kWords.size() - 1)]);
      case Shape::kDistinct:
        return put(column, std::to_string(random_()));
      case Shape::kEmpty:
        return put(column, "");
      case Shape::kSparse:
        if (random_() % 20 == 0) put(column, std::to_string(random_() % 4));
        return;
      case Shape::kLong:
        if (random_() % 8 == 0) put(column, std::string(random_() % 3000, 'x'));
        return;
    }
  }

  std::mt19937 random_;
};

class EncoderOracleTest : public testing::Test {
 protected:
  EncoderOracleTest() : copy_(make_copy_batch_writer({}).value()) {}

  void expect_equal(const CellTable& cells) {
    const std::string by_copy = folder_.path("copy.parquet");
    const std::string by_encoder = folder_.path("encoder.parquet");
    std::filesystem::remove(by_copy);
    const parquet::BatchFile file{.cells = cells,
                                  .stored_names = cells.columns,
                                  .batch_id = "b-1",
                                  .key_values = key_values_};
    ASSERT_TRUE(copy_->write(file, by_copy));
    const auto bytes = encoder_.encode(file);
    ASSERT_TRUE(bytes);
    std::ofstream(by_encoder, std::ios::binary) << *bytes;
    const Table expected = reader_.read(by_copy);
    const Table actual = reader_.read(by_encoder);
    ASSERT_EQ(actual.columns, expected.columns);
    ASSERT_EQ(actual.types, expected.types);
    ASSERT_EQ(actual.rows.size(), expected.rows.size());
    for (std::size_t row = 0; row < actual.rows.size(); ++row) {
      ASSERT_EQ(actual.rows[row], expected.rows[row]) << "row " << row;
    }
  }

  ScratchFolder folder_;
  ParquetReader reader_;
  const parquet::KeyValues key_values_ = {{"batch_id", "b-1"}};
  std::unique_ptr<CopyBatchWriter> copy_;
  parquet::FileEncoder encoder_;
};

TEST_F(EncoderOracleTest, RandomBatchesReadTheSame) {
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    ASSERT_NO_FATAL_FAILURE(expect_equal(RandomBatch(seed).cells)) << "seed " << seed;
  }
}

/// More than a page of texts, of indices and of NULLs.
TEST_F(EncoderOracleTest, ManyPagesReadTheSame) {
  CellTable cells;
  cells.columns = {"wide", "few", "late"};
  constexpr std::size_t kRows = 1'100'000;
  for (std::size_t row = 0; row < kRows; ++row) {
    if (row % 100 == 0) {
      cells.fields.push_back(
          {0, cells.arena.emplace_back(std::to_string(row) + std::string(400, 'w'))});
    }
    if (row % 10 == 0) cells.fields.push_back({1, row % 20 == 0 ? "even" : "odd"});
    if (row + 1 == kRows) cells.fields.push_back({2, "last"});
    cells.row_ends.push_back(cells.fields.size());
  }
  expect_equal(cells);
}

/// Bounds that were cut must still bound: a filter by them loses no row.
TEST_F(EncoderOracleTest, AFilterOnLongTextsFindsThem) {
  const std::vector<std::string> texts = {std::string(100, 'a'),
                                          std::string(63, 'b') + "\xf0\x9f\x8c\x8a" + "tail",
                                          std::string(64, '~') + "end", std::string(70, '\x7f'),
                                          "\xf4\x8f\xbf\xbf" + std::string(80, 'z')};
  for (const std::string& text : texts) {
    CellTable cells;
    cells.columns = {"t"};
    cells.fields.push_back({0, text});
    cells.row_ends.push_back(1);
    ASSERT_NO_FATAL_FAILURE(expect_equal(cells));
    Sql sql("SELECT count(*)::VARCHAR FROM read_parquet(");
    sql.literal(folder_.path("encoder.parquet")).raw(") WHERE t >= ").literal(text);
    EXPECT_EQ(reader_.number(sql), 1U);
  }
}

}  // namespace
}  // namespace strata::duck
