#include "http/inflate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "http/compress_support.h"

namespace strata::http {
namespace {

Result<std::string> inflate_body(ContentCoding coding, std::string_view body,
                                 std::uint64_t bytes_max, std::uint64_t held_max = UINT64_MAX) {
  BodyBudget budget(held_max);
  BodyBudget::Share share(budget);
  return http::inflate_body(coding, body, bytes_max, share);
}

using namespace std::string_view_literals;
using test::compress;
using test::gzip;
using test::zstd;
using ::testing::HasSubstr;

constexpr std::uint64_t kMebibyte = 1024 * 1024;

/// Text with repetitions, or bytes without any.
std::string random_body(std::mt19937& random, std::size_t size) {
  const auto letters = random() % 3 == 0 ? 256 : 1 + random() % 26;
  std::string body;
  while (body.size() < size) {
    if (body.size() > 100 && random() % 8 == 0) {
      body += body.substr(random() % 100, std::min<std::size_t>(size - body.size(), 100));
    } else {
      body += static_cast<char>(random() % letters);
    }
  }
  return body.substr(0, size);
}

TEST(Inflate, GivesBackEveryBodyHoweverItWasCutIntoMembersAndFrames) {
  std::mt19937 random(static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed()));
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kZstd}) {
    for (int round = 0; round < 200; ++round) {
      const std::string body = random_body(random, random() % (round % 20 == 0 ? 400'000 : 3'000));
      std::string compressed;
      std::string_view rest = body;
      do {
        const std::size_t piece = round % 2 == 0 ? rest.size() : 1 + random() % 1'000;
        compressed += compress(coding, rest.substr(0, piece), 1 + static_cast<int>(random() % 9));
        rest.remove_prefix(std::min(piece, rest.size()));
      } while (!rest.empty());
      const auto inflated = inflate_body(coding, compressed, body.size());
      ASSERT_TRUE(inflated) << inflated.error().message;
      ASSERT_EQ(*inflated, body);
      if (body.empty()) continue;
      const auto over = inflate_body(coding, compressed, body.size() - 1);
      ASSERT_FALSE(over);
      ASSERT_EQ(over.error().code, Code::kBodyTooLarge);
    }
  }
}

TEST(Inflate, ACutBodyIsNeverTakenForAWholeOne) {
  std::mt19937 random(7);
  const std::string body = random_body(random, 700);
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kZstd}) {
    const std::string compressed = compress(coding, body, 5);
    for (std::size_t length = 0; length < compressed.size(); ++length) {
      const auto inflated = inflate_body(coding, compressed.substr(0, length), kMebibyte);
      ASSERT_FALSE(inflated) << length;
      ASSERT_EQ(inflated.error().code, Code::kBadEncoding) << length;
    }
  }
}

TEST(Inflate, AFlippedBitIsNeverTakenForTheBody) {
  std::mt19937 random(11);
  const std::string body = random_body(random, 500);
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kZstd}) {
    std::string compressed = compress(coding, body, 5);
    for (std::size_t bit = 0; bit < 8 * compressed.size(); ++bit) {
      const char mask = static_cast<char>(1U << bit % 8);
      compressed[bit / 8] = static_cast<char>(compressed[bit / 8] ^ mask);
      const auto inflated = inflate_body(coding, compressed, kMebibyte);
      // A gzip head has bytes that say nothing of the content (time, system).
      ASSERT_TRUE(!inflated || *inflated == body) << bit;
      compressed[bit / 8] = static_cast<char>(compressed[bit / 8] ^ mask);
    }
  }
}

TEST(Inflate, SaysWhatIsWrongAndWhatToDo) {
  const std::string body = "{\"a\":1}\n";
  std::string damaged = gzip(body);
  damaged[damaged.size() - 6] ^= 1;  // of the checksum
  const struct {
    ContentCoding coding;
    std::string sent;
    const char* said;
  } cases[] = {
      {ContentCoding::kGzip, body, "no gzip data, though Content-Encoding says gzip"},
      {ContentCoding::kGzip, zstd(body), "no gzip data, though Content-Encoding says gzip"},
      {ContentCoding::kGzip, "", "ends too early"},
      {ContentCoding::kGzip, "\x1f", "no gzip data"},
      {ContentCoding::kGzip, "\x1f\x8b", "ends too early"},
      {ContentCoding::kGzip, damaged, "The gzip data is damaged: compress the body again."},
      {ContentCoding::kGzip, gzip(body) + "\n", "Behind the gzip data stand 1 bytes"},
      {ContentCoding::kGzip, gzip(body) + zstd(body), "do not belong to it"},
      {ContentCoding::kZstd, gzip(body), "no zstd data"},
      {ContentCoding::kZstd, zstd(body) + "junk", "Behind the zstd data stand 4 bytes"},
      {ContentCoding::kZstd, zstd(body) + gzip(body), "do not belong to it"},
      // A frame of zstd 0.7, from before its format was settled.
      {ContentCoding::kZstd, "\x27\xb5\x2f\xfd\x24\x08", "no zstd data"},
      {ContentCoding::kZstd, zstd(std::string(100, 'x'), 3, 24), "a window of more than 8 MiB"},
  };
  for (const auto& row : cases) {
    const auto inflated = inflate_body(row.coding, row.sent, kMebibyte);
    ASSERT_FALSE(inflated) << row.said;
    EXPECT_EQ(inflated.error().code, Code::kBadEncoding);
    EXPECT_THAT(inflated.error().message, HasSubstr(row.said));
  }
}

TEST(Inflate, TakesSkippableFramesAndTheLargestWindow) {
  const std::string skippable("\x50\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);
  const std::string text(100, 'x');
  const auto inflated = inflate_body(ContentCoding::kZstd, skippable + zstd(text, 3, 23), 100);
  ASSERT_TRUE(inflated) << inflated.error().message;
  EXPECT_EQ(*inflated, text);
}

TEST(Inflate, ABombIsRefusedAtTheLimit) {
  // 1 GiB of zeros; gzip's is built from one member of 1 MiB, 1024 times.
  const std::string mebibyte(kMebibyte, '\0');
  const std::string member = gzip(mebibyte, 9);
  const std::string frame = zstd(mebibyte, 19);
  std::string gzip_bomb;
  std::string zstd_bomb;
  for (int i = 0; i < 1024; ++i) {
    gzip_bomb += member;
    zstd_bomb += frame;
  }
  for (const auto& [coding, bomb] :
       {std::pair{ContentCoding::kGzip, gzip_bomb}, std::pair{ContentCoding::kZstd, zstd_bomb}}) {
    const auto inflated = inflate_body(coding, bomb, kMebibyte);
    ASSERT_FALSE(inflated);
    EXPECT_EQ(inflated.error().code, Code::kBodyTooLarge);
    EXPECT_THAT(inflated.error().message, HasSubstr("more than 1048576 once inflated"));
    const auto held = inflate_body(coding, bomb, kMebibyte, 300'000);
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().code, Code::kBusy);
  }
}

Request with_encodings(std::initializer_list<std::string> values) {
  Request request;
  for (const std::string& value : values) request.headers.emplace_back("content-encoding", value);
  return request;
}

TEST(ContentCoding, OneOfTwoOrNone) {
  const struct {
    Request head;
    std::optional<ContentCoding> coding;
  } cases[] = {
      {with_encodings({}), ContentCoding::kIdentity},
      {with_encodings({"Identity"}), ContentCoding::kIdentity},
      {with_encodings({"gzip"}), ContentCoding::kGzip},
      {with_encodings({"X-GZIP"}), ContentCoding::kGzip},
      {with_encodings({"ZSTD"}), ContentCoding::kZstd},
      {with_encodings({"gzip, zstd"}), std::nullopt},
      {with_encodings({"gzip", "gzip"}), std::nullopt},
      {with_encodings({"br"}), std::nullopt},
      {with_encodings({"deflate"}), std::nullopt},
      {with_encodings({""}), std::nullopt},
  };
  for (const auto& row : cases) {
    const auto coding = content_coding(row.head);
    ASSERT_EQ(coding.has_value(), row.coding.has_value());
    if (coding) {
      EXPECT_EQ(*coding, *row.coding);
    } else {
      EXPECT_EQ(coding.error().code, Code::kUnsupportedEncoding);
      EXPECT_THAT(coding.error().message, HasSubstr("gzip or with zstd"));
    }
  }
}

}  // namespace
}  // namespace strata::http
