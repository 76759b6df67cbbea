#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/csv.h"
#include "cli/input.h"

namespace strata::cli {

enum class InputFormat : std::uint8_t { kNdjson, kCsv };

/// One record as it goes to the server: a line of JSON with its `\n`, and where it came from.
struct Record {
  std::string text;
  std::uint64_t line = 0;  // of the file, from 1
};

/// A file as a stream of records. What it yields for given bytes is fixed for ever: batch ids
/// depend on it. Memory is bounded by the longest record, and that by 64 MiB.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  /// Fills `record`; false at the end. kBadRequest: the file is not what it claims to be (the
  /// message names the line). After an error the reader is of no more use.
  virtual Result<bool> next(Record& record) = 0;

  /// `source` outlives the reader.
  static std::unique_ptr<RecordReader> create(InputFormat format, ByteSource& source);
};

/// Lines that are not blank, byte for byte, but for the line ending (LF or CRLF becomes LF, one is
/// added to the last line) and a byte order mark at the start. Whether a line is a JSON object is
/// for the server to judge; only a file that is one JSON array is refused here, because no batch of
/// it could land.
class NdjsonRecords final : public RecordReader {
 public:
  explicit NdjsonRecords(ByteSource& source) : source_(source) {}
  Result<bool> next(Record& record) override;

 private:
  Result<bool> read_line(std::string& line);

  ByteSource& source_;
  std::string_view piece_;
  bool started_ = false;
  bool first_ = true;  // no record yet
  std::uint64_t line_ = 0;
};

/// Rows under a header row: `{"key":"cell",...}` in the header's order, every cell a string, an
/// empty one "". kBadRequest: no usable header, or a row with another number of cells.
class CsvRecords final : public RecordReader {
 public:
  explicit CsvRecords(ByteSource& source) : reader_(source) {}
  Result<bool> next(Record& record) override;

 private:
  Result<void> read_header();

  CsvReader reader_;
  CsvRow row_;
  std::vector<std::string> keys_;  // `{"a":` or `,"b":`
};

}  // namespace strata::cli
