#include "cli/chunker.h"

#include <gtest/gtest.h>

#include <random>

#include "cli/test_support.h"

namespace strata::cli {
namespace {

using testing::PiecewiseSource;

std::vector<Chunk> chunks_of(const std::string& text, std::optional<std::uint64_t> batch_rows,
                             std::size_t piece_bytes = 64 * 1024) {
  PiecewiseSource source(text, piece_bytes);
  NdjsonRecords reader(source);
  Chunker chunker(reader, batch_rows);
  std::vector<Chunk> chunks;
  for (;;) {
    auto chunk = chunker.next();
    EXPECT_TRUE(chunk) << chunk.error().message;
    if (!chunk || !*chunk) return chunks;
    chunks.push_back(std::move(**chunk));
  }
}

// A record of exactly `bytes` bytes with its line feed.
std::string record_of(std::size_t bytes) { return std::string(bytes - 1, 'x') + "\n"; }

TEST(Chunker, ClosesBeforeTheRecordThatWouldPassTheLimit) {
  struct Case {
    std::vector<std::size_t> records;
    std::vector<std::size_t> bodies;
  };
  const Case kCases[] = {
      {{}, {}},
      {{10, 10}, {20}},
      {{524'288}, {524'288}},
      {{524'278, 10, 10}, {524'288, 10}},      // the limit itself still fits
      {{524'278, 11, 10}, {524'278, 21}},      // one byte more does not
      {{10, 524'289, 10}, {10, 524'289, 10}},  // too large for any: alone
      {{262'144, 262'144, 262'144}, {524'288, 262'144}},
  };
  for (const Case& test : kCases) {
    std::string text;
    for (const std::size_t bytes : test.records) text += record_of(bytes);
    std::vector<std::size_t> bodies;
    std::uint64_t number = 0;
    for (const Chunk& chunk : chunks_of(text, std::nullopt)) {
      bodies.push_back(chunk.body.size());
      EXPECT_EQ(chunk.number, number++);
    }
    EXPECT_EQ(bodies, test.bodies);
  }
}

TEST(Chunker, AnEndWithoutALineFeedCountsTheOneThatIsAdded) {
  const std::string text = record_of(524'278) + std::string(10, 'y');
  const auto chunks = chunks_of(text, std::nullopt);
  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_EQ(chunks[1].body, std::string(10, 'y') + "\n");
}

TEST(Chunker, AllRecordsOnceInOrderWhateverTheirSizes) {
  std::minstd_rand random(20260629);
  for (int round = 0; round < 20; ++round) {
    std::string text;
    std::string records;
    std::vector<std::uint64_t> lines;
    std::uint64_t line = 0;
    while (text.size() < 3'000'000) {
      ++line;
      if (random() % 5 == 0) {
        text += " \r\n";
        continue;
      }
      const std::string record(1 + random() % (round % 2 == 0 ? 200 : 300'000), 'a');
      text += record + (random() % 2 == 0 ? "\n" : "\r\n");
      records += record + "\n";
      lines.push_back(line);
    }
    std::string sent;
    std::vector<std::uint64_t> sent_lines;
    const auto chunks = chunks_of(text, std::nullopt, 1 + random() % 100'000);
    for (std::size_t index = 0; index < chunks.size(); ++index) {
      const Chunk& chunk = chunks[index];
      EXPECT_LE(chunk.body.size(), kBatchBodyBytes);
      if (index > 0) {
        const std::size_t first_record = chunk.body.find('\n') + 1;
        EXPECT_GT(chunks[index - 1].body.size() + first_record, kBatchBodyBytes) << "closed early";
      }
      sent += chunk.body;
      sent_lines.insert(sent_lines.end(), chunk.lines.begin(), chunk.lines.end());
    }
    EXPECT_TRUE(sent == records) << "round " << round;
    EXPECT_EQ(sent_lines, lines);
  }
}

TEST(Chunker, BatchRowsCountsRecordsInstead) {
  const auto chunks = chunks_of("a\n\nb\nc\nd\ne\n", 2);
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0].body, "a\nb\n");
  EXPECT_EQ(chunks[0].lines, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(chunks[1].body, "c\nd\n");
  EXPECT_EQ(chunks[2].body, "e\n");
  EXPECT_EQ(chunks_of(record_of(500'000) + record_of(500'000), 2).size(), 1U);
}

TEST(Chunker, BatchRowsBeyondWhatAnyReceiverTakesIsAnError) {
  std::string text;
  for (int index = 0; index < 65; ++index) text += record_of(1 << 20);
  PiecewiseSource source(text, 1 << 20);
  NdjsonRecords reader(source);
  Chunker chunker(reader, 1'000'000);
  const auto chunk = chunker.next();
  ASSERT_FALSE(chunk);
  EXPECT_EQ(chunk.error().message,
            "line 65: a batch of 1000000 rows is over 67108864 bytes here, more than any receiver "
            "takes; use a smaller --batch-rows, or none");
}

TEST(Chunker, ACsvFileIsCutByTheBytesOfItsNdjson) {
  // {"k":"<cell>"}\n is 10 bytes and the cell; 52,428 of 10 bytes less 2: one more passes.
  std::string text = "k\n";
  for (int index = 0; index < 30'000; ++index) text += "\"\"\"\"\n";  // one quote: {"k":"\""}\n
  PiecewiseSource source(text, 4096);
  CsvRecords reader(source);
  Chunker chunker(reader, std::nullopt);
  const auto chunk = chunker.next();
  ASSERT_TRUE(chunk && *chunk);
  constexpr std::size_t kRecordBytes = std::string_view("{\"k\":\"\\\"\"}\n").size();
  EXPECT_EQ((*chunk)->lines.size(), std::min<std::size_t>(30'000, 524'288 / kRecordBytes));
}

}  // namespace
}  // namespace strata::cli
