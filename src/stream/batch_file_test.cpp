#include "stream/batch_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/sha256.h"
#include "io/posix_file_system.h"
#include "io/publish.h"
#include "io/testing/expect.h"
#include "io/testing/temp_dir.h"

namespace strata::stream {
namespace {

namespace json = boost::json;

json::value read_json(const std::string& path) {
  std::ifstream in(std::string(STRATA_SOURCE_DIR) + path);
  EXPECT_TRUE(in) << path;
  return json::parse(std::string{std::istreambuf_iterator<char>(in), {}});
}

/// Rows of a vector as cells; the texts live in the table's arena.
CellTable cells_of(const json::value& vector) {
  CellTable cells;
  for (const auto& name : vector.at("columns").as_array()) {
    cells.columns.emplace_back(name.as_string());
  }
  for (const auto& row : vector.at("rows").as_array()) {
    for (const auto& cell : row.as_object()) {
      if (cell.value().is_null()) continue;
      const auto column = std::ranges::find(cells.columns, std::string_view(cell.key()));
      EXPECT_NE(column, cells.columns.end());
      cells.arena.emplace_back(cell.value().as_string());
      cells.fields.push_back(
          {static_cast<std::uint32_t>(column - cells.columns.begin()), cells.arena.back()});
    }
    cells.row_ends.push_back(cells.fields.size());
  }
  return cells;
}

TEST(ContentDigest, MatchesTheVectors) {
  const json::value vectors = read_json("/tests/vectors/content_sha256.json");
  ASSERT_GE(vectors.at("cases").as_array().size(), 12U);
  for (const json::value& vector : vectors.at("cases").as_array()) {
    const CellTable cells = cells_of(vector);
    EXPECT_EQ(content_sha256(cells, cells.columns), vector.at("sha256").as_string().c_str())
        << vector.at("name");
  }
}

TEST(Shards, MatchTheVectors) {
  const json::value vectors = read_json("/tests/vectors/shards.json");
  ASSERT_GE(vectors.at("cases").as_array().size(), 3U);
  for (const json::value& vector : vectors.at("cases").as_array()) {
    const auto id = BatchId::parse(std::string_view(vector.at("id").as_string()));
    ASSERT_OK(id);
    EXPECT_EQ(io::Publisher::shard_of(*id), vector.at("shard").as_string().c_str());
  }
}

class BatchFileTest : public ::testing::Test {
 protected:
  void write(const std::string& name) {
    cells_.columns = {"a"};
    cells_.fields = {{0, "1"}};
    cells_.row_ends = {1};
    const io::BatchFacts facts{.batch_id = "id-1",
                               .attempt = "n-1-1/1.parquet",
                               .partition = "",
                               .arrived_at = "2026-06-29T00:00:00.000000Z",
                               .rows = 1,
                               .columns = 1,
                               .body_sha256 = std::string(64, 'b'),
                               .content_sha256 = std::string(64, 'c')};
    const auto key_values = batch_key_values(facts, {.kb = "demo", .stream = "s"});
    auto bytes = parquet::make_batch_writer()->encode({.cells = cells_,
                                                       .stored_names = cells_.columns,
                                                       .batch_id = "id-1",
                                                       .key_values = key_values});
    ASSERT_OK(bytes);
    ASSERT_OK_AND_ASSIGN(sealed_, seal_batch(*bytes));
    std::ofstream(temp_.path() + "/" + name, std::ios::binary) << *bytes;
  }

  io::TempDir temp_;
  std::unique_ptr<io::FileSystem> fs_ = io::make_posix_file_system();
  CellTable cells_;
  io::BatchFacts sealed_;
};

TEST_F(BatchFileTest, ASealedFileCertifiesItselfAndSaysWhatItIs) {
  write("x.parquet");
  ASSERT_OK_AND_ASSIGN(const auto folder, fs_->open_directory(temp_.path()));
  const io::Entry file{*folder, "x.parquet"};
  ASSERT_OK_AND_ASSIGN(const auto facts, FooterFactsReader(*fs_).read(file));
  EXPECT_EQ(facts, sealed_);
  EXPECT_EQ(facts.batch_id, "id-1");
  EXPECT_EQ(facts.attempt, "n-1-1/1.parquet");
  EXPECT_EQ(facts.rows, 1U);
  ASSERT_OK_AND_ASSIGN(std::string bytes, fs_->read(file, 1 << 20));
  EXPECT_EQ(facts.file_bytes, bytes.size());
  // The rule in other words: put the zeros back, hash the whole.
  const auto at = bytes.find(facts.file_sha256);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 64, std::string(64, '0'));
  EXPECT_EQ(sha256_hex(bytes), facts.file_sha256);
}

TEST_F(BatchFileTest, WhatIsNoWholeBatchIsSaidToBeNone) {
  write("x.parquet");
  const auto size = std::filesystem::file_size(temp_.path() + "/x.parquet");
  ASSERT_OK_AND_ASSIGN(const auto folder, fs_->open_directory(temp_.path()));
  for (const std::uintmax_t kept : {std::uintmax_t{0}, std::uintmax_t{4}, size / 2, size - 1}) {
    std::filesystem::copy_file(temp_.path() + "/x.parquet", temp_.path() + "/cut.parquet");
    std::filesystem::resize_file(temp_.path() + "/cut.parquet", kept);
    EXPECT_CODE(Code::kBadBatch, FooterFactsReader(*fs_).read({*folder, "cut.parquet"})) << kept;
    std::filesystem::remove(temp_.path() + "/cut.parquet");
  }
  EXPECT_CODE(Code::kNotFound, FooterFactsReader(*fs_).read({*folder, "none.parquet"}));
}

}  // namespace
}  // namespace strata::stream
