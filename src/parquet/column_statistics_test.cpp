#include "parquet/column_statistics.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace strata::parquet {
namespace {

std::string vector_file() {
  std::ifstream in(STRATA_VECTORS "/batch.parquet", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ColumnStatistics, AreThoseOfABatchAsTheWriterMadeIt) {
  const auto columns = parse_column_statistics(vector_file());
  ASSERT_TRUE(columns);
  ASSERT_EQ(columns->size(), 4U);
  const ColumnStatistics& time = columns->at("time");
  EXPECT_EQ(time.values, 3U);
  EXPECT_EQ(time.nulls, 1U);
  EXPECT_EQ(time.smallest, "2026-06-29T00:00:00Z");
  EXPECT_EQ(time.largest, "2026-06-29T00:01:00Z");
  const ColumnStatistics& note = columns->at("note");
  EXPECT_EQ(note.nulls, 1U);
  EXPECT_EQ(note.smallest, "");
  EXPECT_EQ(note.largest, "it's \"quoted\", \xf0\x9f\x8c\xa1");
  EXPECT_EQ(columns->at("_batch_id").nulls, 0U);
}

TEST(ColumnStatistics, ACutLargestIsNoValue) {
  std::string file = vector_file();
  // Statistics end with field 7 and 8, both true; the first column's field 7 is made false.
  const auto at = file.find("2026-06-29T00:00:00Z\x11\x11");
  ASSERT_NE(at, std::string::npos);
  file[at + 20] = '\x12';
  const auto columns = parse_column_statistics(file);
  ASSERT_TRUE(columns);
  EXPECT_EQ(columns->at("time").largest, std::nullopt);
  EXPECT_EQ(columns->at("time").smallest, "2026-06-29T00:00:00Z");
}

TEST(ColumnStatistics, DamageIsAnErrorWhereverItIs) {
  const std::string file = vector_file();
  EXPECT_FALSE(parse_column_statistics(""));
  EXPECT_FALSE(parse_column_statistics(file.substr(file.size() - 100)));
  // Any byte may be anything: an answer or an error, never a read beyond the end.
  for (std::size_t at = file.size() - 954; at < file.size(); ++at) {
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string damaged = file;
      damaged[at] = value;
      static_cast<void>(parse_column_statistics(damaged).has_value());
    }
  }
}

}  // namespace
}  // namespace strata::parquet
