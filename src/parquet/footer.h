#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "parquet/batch_writer.h"

/// Reading what a Parquet file says of itself, without DuckDB: our own reader of the footer's
/// Thrift compact encoding, safe on any bytes.
namespace strata::parquet {

struct Footer {
  std::uint64_t rows = 0;
  std::vector<std::string> columns;  // leaf columns in file order
  KeyValues key_values;
  /// Where in the file the value of `file_sha256` begins, if there is one of 64 bytes.
  std::optional<std::uint64_t> file_sha256_offset;

  /// The value of `key`, if it is there.
  std::optional<std::string_view> value(std::string_view key) const;
};

/// How many bytes at a file's end to read first; one read is enough for nearly every batch.
inline constexpr std::uint64_t kFooterReadBytes = 64 * 1024;
/// A longer footer is refused as damaged.
inline constexpr std::uint64_t kFooterBytesMax = 64ULL * 1024 * 1024;

/// From a file's last 8 bytes: how long its tail (footer, its length, magic) is. kIo: no Parquet.
Result<std::uint64_t> footer_tail_size(std::string_view last_eight_bytes);
/// `tail`: the file's last bytes, at least footer_tail_size of them; `file_size` places offsets.
Result<Footer> parse_footer(std::string_view tail, std::uint64_t file_size);

/// The digest a file shall carry: SHA-256 of all its bytes with the 64 digits at
/// `file_sha256_offset` taken as '0' (ASCII). Fixed for ever; test vectors in tests/vectors/.
std::string self_digest(std::string_view file, std::uint64_t file_sha256_offset);
/// What stands in the file until the digest is known.
std::string file_sha256_placeholder();

}  // namespace strata::parquet
