#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/cells.h"
#include "base/error.h"
#include "io/batch_facts.h"
#include "io/file_system.h"
#include "parquet/batch_writer.h"
#include "parquet/footer.h"

/// What a batch's Parquet file says of itself, written and read (architecture.md, Life of a POST
/// 7).
namespace strata::stream {

/// The metadata besides what BatchFacts holds.
struct BatchOrigin {
  std::string kb;
  std::string stream;
};

/// `facts.file_sha256` and `file_bytes` are not known yet and are left out: seal() puts the digest
/// in.
parquet::KeyValues batch_key_values(const io::BatchFacts& facts, const BatchOrigin& origin);

/// SHA-256 over the rows in order, for ever: in a row the cells that are not NULL, sorted by the
/// bytes of their stored column name, each as 4-byte little-endian length + name, length + text;
/// after each row FF FF FF FF. Test vectors: tests/vectors/content_sha256.json.
std::string content_sha256(const CellTable& cells, std::span<const std::string> stored_names);

/// Writes the file's own digest into its bytes, so that every file certifies itself, and answers
/// what a reader will find there. kInternal: `bytes` are not what batch_key_values() was put into.
Result<io::BatchFacts> seal_batch(std::string& bytes);

/// The end of the file, footer included, without reading the file. kBadBatch: no Parquet file.
Result<std::string> read_footer_tail(io::FileSystem& fs, io::Entry file);

/// Reads a footer without reading the file.
Result<parquet::Footer> read_footer(io::FileSystem& fs, io::Entry file);

/// Facts out of the footer. Thread-safe.
class FooterFactsReader final : public io::FactsReader {
 public:
  explicit FooterFactsReader(io::FileSystem& fs) : fs_(fs) {}
  Result<io::BatchFacts> read(io::Entry file) override;

 private:
  io::FileSystem& fs_;
};

}  // namespace strata::stream
