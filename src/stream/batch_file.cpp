#include "stream/batch_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/limits.h"
#include "base/little_endian.h"
#include "base/sha256.h"
#include "base/whole_number.h"

namespace strata::stream {
namespace {

constexpr std::string_view kWriter = "strata 1";

/// Takes a digest in long pieces: a call for each cell costs more than the hashing.
class PiecewiseDigest {
 public:
  void add(std::string_view bytes) {
    if (bytes.size() > kPieceBytes - size_) {
      flush();
      if (bytes.size() > kPieceBytes) return sha_.update(bytes);
    }
    std::memcpy(piece_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  std::string finish() {
    flush();
    return to_hex(sha_.finish());
  }

 private:
  static constexpr std::size_t kPieceBytes = 16UL * 1024;

  void flush() {
    sha_.update({piece_.data(), size_});
    size_ = 0;
  }

  Sha256 sha_;
  std::array<char, kPieceBytes> piece_;
  std::size_t size_ = 0;
};

/// For each column its place when the stored names are sorted by bytes.
std::vector<std::uint32_t> ranks_of(std::span<const std::string> names) {
  std::vector<std::uint32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return names[a] < names[b]; });
  std::vector<std::uint32_t> ranks(names.size());
  for (std::uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  return ranks;
}

Result<std::string> read_tail(io::FileSystem& fs, io::Entry file, std::uint64_t file_size) {
  const std::uint64_t first = std::min(file_size, parquet::kFooterReadBytes);
  STRATA_ASSIGN_OR_RETURN(std::string tail, fs.read_range(file, file_size - first, first));
  if (tail.size() < 8) return make_error(Code::kBadBatch, "the file is too short to be Parquet");
  const auto size = parquet::footer_tail_size(std::string_view(tail).substr(tail.size() - 8));
  if (!size || *size > file_size) {
    return make_error(Code::kBadBatch, "the file is no Parquet file");
  }
  if (*size <= tail.size()) return tail;
  return fs.read_range(file, file_size - *size, *size);
}

Result<io::BatchFacts> facts_of(const parquet::Footer& footer, std::uint64_t file_bytes) {
  io::BatchFacts facts;
  const auto take = [&](std::string_view key, std::string& into) {
    const auto value = footer.value(key);
    if (value) into = *value;
    return value.has_value();
  };
  std::string rows;
  std::string columns;
  const bool whole =
      take("batch_id", facts.batch_id) && take("attempt", facts.attempt) &&
      take("partition", facts.partition) && take("arrived_at", facts.arrived_at) &&
      take("rows", rows) && take("columns", columns) && take("body_sha256", facts.body_sha256) &&
      take("content_sha256", facts.content_sha256) && take("file_sha256", facts.file_sha256);
  const auto row_count = parse_whole_number(rows);
  const auto column_count = parse_whole_number(columns);
  if (!whole || !row_count || !column_count || footer.rows != *row_count) {
    return make_error(Code::kBadBatch, "the file is no batch of Strata's",
                      "its metadata is incomplete or its row count differs");
  }
  facts.rows = *row_count;
  facts.columns = *column_count;
  facts.file_bytes = file_bytes;
  return facts;
}

}  // namespace

parquet::KeyValues batch_key_values(const io::BatchFacts& facts, const BatchOrigin& origin) {
  return {{"batch_id", facts.batch_id},
          {"kb", origin.kb},
          {"stream", origin.stream},
          {"attempt", facts.attempt},
          {"partition", facts.partition},
          {"arrived_at", facts.arrived_at},
          {"rows", fmt::format("{}", facts.rows)},
          {"columns", fmt::format("{}", facts.columns)},
          {"body_sha256", facts.body_sha256},
          {"content_sha256", facts.content_sha256},
          {"writer", std::string(kWriter)},
          {"file_sha256", parquet::file_sha256_placeholder()}};
}

std::string content_sha256(const CellTable& cells, std::span<const std::string> stored_names) {
  const std::vector<std::uint32_t> ranks = ranks_of(stored_names);
  // A column's name with its length is the same bytes in every row.
  std::vector<std::string> names;
  names.reserve(stored_names.size());
  for (const std::string& name : stored_names) {
    const auto length = little_endian_32(name.size());
    names.emplace_back(length.data(), length.size()).append(name);
  }
  PiecewiseDigest digest;
  const auto rank = [&](const Field& field) { return ranks[field.column]; };
  std::vector<Field> sorted;
  for (std::size_t r = 0; r < cells.row_count(); ++r) {
    std::span<const Field> row = cells.row(r);
    if (!std::ranges::is_sorted(row, {}, rank)) {
      sorted.assign(row.begin(), row.end());
      std::ranges::sort(sorted, {}, rank);
      row = sorted;
    }
    for (const Field& field : row) {
      digest.add(names[field.column]);
      const auto length = little_endian_32(field.text.size());
      digest.add({length.data(), length.size()});
      digest.add(field.text);
    }
    digest.add("\xff\xff\xff\xff");
  }
  return digest.finish();
}

Result<std::string> read_footer_tail(io::FileSystem& fs, io::Entry file) {
  STRATA_ASSIGN_OR_RETURN(const io::FileStat stat, fs.stat(file));
  return read_tail(fs, file, stat.size_bytes);
}

Result<parquet::Footer> read_footer(io::FileSystem& fs, io::Entry file) {
  STRATA_ASSIGN_OR_RETURN(const io::FileStat stat, fs.stat(file));
  STRATA_ASSIGN_OR_RETURN(const std::string tail, read_tail(fs, file, stat.size_bytes));
  auto footer = parquet::parse_footer(tail, stat.size_bytes);
  if (!footer) return make_error(Code::kBadBatch, footer.error().message, footer.error().detail);
  return footer;
}

Result<io::BatchFacts> FooterFactsReader::read(io::Entry file) {
  STRATA_ASSIGN_OR_RETURN(const parquet::Footer footer, read_footer(fs_, file));
  STRATA_ASSIGN_OR_RETURN(const io::FileStat stat, fs_.stat(file));
  return facts_of(footer, stat.size_bytes);
}

Result<io::BatchFacts> seal_batch(std::string& bytes) {
  const auto broken = [](const Error& cause) {
    return make_error(Code::kInternal, "the batch could not be encoded; nothing is stored",
                      cause.message + " " + cause.detail);
  };
  const auto footer = parquet::parse_footer(bytes, bytes.size());
  if (!footer) return broken(footer.error());
  auto facts = facts_of(*footer, bytes.size());
  if (!facts || !footer->file_sha256_offset) {
    return broken(facts ? make_error(Code::kInternal, "no room for the digest") : facts.error());
  }
  facts->file_sha256 = parquet::self_digest(bytes, *footer->file_sha256_offset);
  bytes.replace(*footer->file_sha256_offset, facts->file_sha256.size(), facts->file_sha256);
  return facts;
}

}  // namespace strata::stream
