#include "parquet/footer.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"

namespace strata::parquet {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string vector_file() { return read_file(STRATA_VECTORS "/batch.parquet"); }

/// parse_footer over a copy of exactly these bytes, so that a sanitizer sees a read beyond them.
Result<Footer> parse_copy(std::string_view tail, std::uint64_t file_size) {
  const auto copy = std::make_unique_for_overwrite<char[]>(tail.size());
  tail.copy(copy.get(), tail.size());
  return parse_footer(std::string_view(copy.get(), tail.size()), file_size);
}

/// `metadata` with its length and the magic behind it, after a file's leading magic.
std::string file_of(std::string_view metadata) {
  std::string file = "PAR1";
  file += metadata;
  for (int shift = 0; shift < 32; shift += 8) {
    file += static_cast<char>(metadata.size() >> shift & 0xff);
  }
  return file + "PAR1";
}

std::string text_field(char header, std::string_view text) {
  std::string bytes(1, header);
  bytes += static_cast<char>(text.size());
  bytes += text;
  return bytes;
}

// FileMetaData written by hand. Struct fields: id step and type in one byte; numbers zigzag.
const std::string kVersion = "\x15\x02";                                        // 1: i32 1
const std::string kOneColumn = std::string("\x19\x2c", 2) +                     // 2: two structs
                               text_field('\x48', "root") +                     //   4: name
                               std::string("\x15\x02\x00", 3) +                 //   5: one child
                               text_field('\x48', "a") + std::string(1, '\0');  //   4: name
const std::string kSevenRows = "\x16\x0e";                                      // 3: i64 7
const std::string kNoRowGroups = std::string("\x19\x0c", 2);                    // 4: none
const std::string kStop(1, '\0');

std::string key_values(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string bytes(1, '\x19');
  bytes += static_cast<char>(entries.size() << 4 | 0x0c);
  for (const auto& [key, value] : entries) {
    bytes += text_field('\x18', key) + text_field('\x18', value) + kStop;
  }
  return bytes;
}

TEST(FooterTest, VectorFileIsReadAndCertifiesItself) {
  const std::string file = vector_file();
  const boost::json::value expected =
      boost::json::parse(read_file(STRATA_VECTORS "/expected.json"));
  ASSERT_EQ(file.size(), expected.at("bytes").to_number<std::size_t>());

  const Result<Footer> footer = parse_footer(file, file.size());
  ASSERT_TRUE(footer.has_value()) << footer.error().detail;
  EXPECT_EQ(footer->rows, expected.at("rows").to_number<std::uint64_t>());
  EXPECT_EQ(footer->columns,
            boost::json::value_to<std::vector<std::string>>(expected.at("columns")));
  EXPECT_EQ(footer->key_values, boost::json::value_to<KeyValues>(expected.at("key_values")));
  ASSERT_EQ(footer->file_sha256_offset,
            expected.at("file_sha256_offset").to_number<std::uint64_t>());
  const std::string digest(expected.at("file_sha256").as_string());
  EXPECT_EQ(self_digest(file, *footer->file_sha256_offset), digest);
  EXPECT_EQ(footer->value("file_sha256"), digest);
}

TEST(FooterTest, TailAloneIsEnoughAndOffsetsStayTheFiles) {
  const std::string file = vector_file();
  const Result<std::uint64_t> size =
      footer_tail_size(std::string_view(file).substr(file.size() - 8));
  ASSERT_TRUE(size.has_value());
  const Result<Footer> whole = parse_footer(file, file.size());
  const Result<Footer> tail =
      parse_copy(std::string_view(file).substr(file.size() - *size), file.size());
  ASSERT_TRUE(whole.has_value() && tail.has_value());
  EXPECT_EQ(tail->key_values, whole->key_values);
  EXPECT_EQ(tail->file_sha256_offset, whole->file_sha256_offset);
  EXPECT_FALSE(parse_copy(std::string_view(file).substr(file.size() - *size + 1), file.size()));
}

TEST(FooterTest, EveryFlippedByteAndBitIsAnErrorOrAFooter) {
  const std::string file = vector_file();
  const std::size_t tail = *footer_tail_size(std::string_view(file).substr(file.size() - 8));
  std::size_t footers = 0;
  for (std::size_t index = file.size() - tail; index < file.size(); ++index) {
    for (const int mask : {0xff, 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80}) {
      std::string mutant = file;
      mutant[index] = static_cast<char>(mutant[index] ^ mask);
      const Result<Footer> footer = parse_copy(mutant, mutant.size());
      if (footer) {
        ++footers;
      } else {
        EXPECT_EQ(footer.error().code, Code::kIo) << index;
      }
    }
  }
  EXPECT_GT(footers, 0U);  // a flip inside a text leaves the structure whole
}

TEST(FooterTest, EveryTruncationIsAnError) {
  const std::string file = vector_file();
  for (std::size_t size = 0; size < file.size(); ++size) {
    const Result<Footer> footer = parse_copy(std::string_view(file).substr(0, size), size);
    ASSERT_FALSE(footer.has_value()) << size;
    EXPECT_EQ(footer.error().code, Code::kIo) << size;
  }
}

TEST(FooterTest, EveryFooterCutShortUnderAMatchingLengthIsAnError) {
  const std::string file = vector_file();
  const std::size_t end = file.size() - 8;
  for (std::size_t begin = 4; begin < end; ++begin) {
    const std::string metadata = file.substr(begin, end - begin);
    const Result<Footer> from_front = parse_copy(file_of(metadata), metadata.size() + 12);
    if (!from_front) {
      EXPECT_EQ(from_front.error().code, Code::kIo) << begin;
    }
  }
  const std::string metadata = kVersion + kOneColumn + kSevenRows + kNoRowGroups + kStop;
  ASSERT_TRUE(parse_copy(file_of(metadata), metadata.size() + 12).has_value());
  for (std::size_t size = 0; size < metadata.size(); ++size) {
    const std::string shorter = file_of(metadata.substr(0, size));
    EXPECT_FALSE(parse_copy(shorter, shorter.size()).has_value()) << size;
  }
}

TEST(FooterTest, MetadataWrittenByHand) {
  struct Case {
    const char* what;
    std::string metadata;
    bool readable;
  };
  const std::string good = kVersion + kOneColumn + kSevenRows + kNoRowGroups;
  std::string nested;
  for (int depth = 0; depth < 100'000; ++depth) nested += '\x1c';
  const Case cases[] = {
      {"least", good + kStop, true},
      {"no stop", good, false},
      {"bytes behind the stop", good + kStop + "x", false},
      {"no schema", kVersion + "\x26\x0e" + kStop, false},
      {"no rows", kVersion + kOneColumn + kStop, false},
      {"negative rows", kVersion + kOneColumn + "\x16\x0d" + kStop, false},
      {"rows of another type", kVersion + kOneColumn + "\x15\x0e" + kStop, false},
      {"schema twice", good + "\x09\x04" + kOneColumn.substr(1) + kStop, false},
      {"children that are not there",
       kVersion + std::string("\x19\x1c\x55\x02\x00", 5) + kSevenRows + kStop, false},
      {"a list of 2^63 elements", kVersion + "\x19\xfc\xff\xff\xff\xff\xff\xff\xff\xff\x7f", false},
      {"a text of 2^63 bytes", good + "\x19\x1c\x18\xff\xff\xff\xff\xff\xff\xff\xff\x7f", false},
      {"a number without end", "\x15" + std::string(40, '\xff'), false},
      {"a field of no type", good + "\x1d" + kStop, false},
      {"structs 100,000 deep", nested, false},
      {"lists 100,000 deep", "\x19" + std::string(100'000, '\x19'), false},
      {"an unknown map, double, boolean and byte",
       good + std::string("\x2b\x01\x88\x01k\x01v\x17") + "8 bytes." + "\x11\x13z" + kStop, true},
      {"an unknown list of booleans", good + "\x29\x21\x01\x02" + kStop, true},
      {"a field id beyond 16 bits", good + "\x05\x80\x80\x10\x02" + kStop, false},
  };
  for (const Case& example : cases) {
    const std::string file = file_of(example.metadata);
    const Result<Footer> footer = parse_copy(file, file.size());
    EXPECT_EQ(footer.has_value(), example.readable) << example.what;
    if (footer) {
      EXPECT_EQ(footer->rows, 7U) << example.what;
      EXPECT_EQ(footer->columns, std::vector<std::string>{"a"}) << example.what;
      EXPECT_EQ(footer->file_sha256_offset, std::nullopt) << example.what;
    }
  }
}

TEST(FooterTest, OffsetOfTheDigest) {
  const std::string digits(64, 'd');
  struct Case {
    std::vector<std::pair<std::string, std::string>> entries;
    bool there;
  };
  const Case cases[] = {
      {{{"file_sha256", digits}}, true},
      {{{"x", "file_sha256"}, {"file_sha256", digits}, {"y", ""}}, true},
      {{{"file_sha256", digits.substr(1)}}, false},
      {{{"file_sha256", ""}, {"file_sha256", digits}},
       false},  // the first one counts, as in value()
      {{{"FILE_SHA256", digits}}, false},
      {{}, false},
  };
  for (const Case& example : cases) {
    const std::string file = file_of(kVersion + kOneColumn + kSevenRows + kNoRowGroups +
                                     key_values(example.entries) + kStop);
    const Result<Footer> footer = parse_copy(file, file.size());
    ASSERT_TRUE(footer.has_value());
    EXPECT_EQ(footer->key_values, example.entries);
    ASSERT_EQ(footer->file_sha256_offset.has_value(), example.there);
    if (example.there) {
      EXPECT_EQ(file.substr(*footer->file_sha256_offset, 64), digits);
    }
  }
}

TEST(FooterTest, TailSize) {
  struct Case {
    std::string end;
    std::optional<std::uint64_t> size;
  };
  const Case cases[] = {
      {std::string("\x10\x00\x00\x00PAR1", 8), 24},
      {std::string("\x00\x00\x00\x04PAR1", 8), kFooterBytesMax + 8},
      {std::string("\x01\x00\x00\x04PAR1", 8), std::nullopt},
      {std::string("\xff\xff\xff\xffPAR1", 8), std::nullopt},
      {std::string("\x00\x00\x00\x00PAR1", 8), std::nullopt},
      {std::string("\x10\x00\x00\x00PARE", 8), std::nullopt},  // encrypted: never ours
      {"PAR1", std::nullopt},
      {"", std::nullopt},
  };
  for (const Case& example : cases) {
    const Result<std::uint64_t> size = footer_tail_size(example.end);
    ASSERT_EQ(size.has_value(), example.size.has_value()) << testing::PrintToString(example.end);
    if (size) {
      EXPECT_EQ(*size, *example.size);
    } else {
      EXPECT_EQ(size.error().code, Code::kIo);
    }
  }
}

TEST(FooterTest, AFooterLongerThanItsFileIsAnError) {
  const std::string file = file_of(kVersion + kOneColumn + kSevenRows + kNoRowGroups + kStop);
  EXPECT_TRUE(parse_footer(file, file.size()).has_value());
  EXPECT_FALSE(parse_footer(file.substr(4), file.size() - 4).has_value());  // no room for the magic
  EXPECT_FALSE(parse_footer(file, file.size() - 1).has_value());
}

TEST(FooterTest, SelfDigestTakesItsOwnDigitsAsZeros) {
  const std::string zeros = file_sha256_placeholder();
  EXPECT_EQ(zeros, std::string(64, '0'));
  const std::string digest = sha256_hex("head" + zeros + "tail");
  EXPECT_EQ(self_digest("head" + zeros + "tail", 4), digest);
  EXPECT_EQ(self_digest("head" + digest + "tail", 4), digest);
  EXPECT_NE(self_digest("Head" + digest + "tail", 4), digest);
  EXPECT_EQ(self_digest(std::string(64, 'x'), 0), sha256_hex(zeros));
}

}  // namespace
}  // namespace strata::parquet
