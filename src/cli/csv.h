#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/input.h"

namespace strata::cli {

/// One row of a CSV file.
struct CsvRow {
  std::vector<std::string> cells;
  std::uint64_t line = 0;  // of the file, from 1, where the row begins
  bool quoted = false;     // some cell stood in quotes
};

/// RFC 4180, strictly, as a stream: comma, cells in `"` with doubled quotes and newlines inside,
/// rows end in LF or CRLF, a byte order mark at the start is dropped, blank lines are no rows.
/// What the grammar does not allow is an error that names the line: a lenient reading would put
/// cells under the wrong key. Memory is bounded by the longest row, and that by 64 MiB.
class CsvReader {
 public:
  explicit CsvReader(ByteSource& source) : source_(source) {}

  /// Fills `row` (its strings are reused); false at the end. kBadRequest: not CSV. After an error
  /// the reader is of no more use.
  Result<bool> next(CsvRow& row);

 private:
  enum class State : std::uint8_t { kCellStart, kPlain, kQuoted, kQuoteSeen, kReturnSeen };
  enum class Step : std::uint8_t { kMore, kRowEnds, kBad };

  Result<bool> refill();
  Step step(char character, CsvRow& row);
  Step separator(char character, CsvRow& row);
  void take_run(CsvRow& row);
  void begin_cell(CsvRow& row);
  Result<bool> finish(CsvRow& row);
  Error bad(std::string_view reason) const;

  ByteSource& source_;
  std::string_view piece_;
  std::size_t position_ = 0;
  bool started_ = false;
  State state_ = State::kCellStart;
  std::size_t cell_ = 0;          // index of the cell being read
  std::uint64_t line_ = 1;        // of the character being read
  std::uint64_t quote_line_ = 0;  // where the last quote opened
  std::uint64_t row_bytes_ = 0;
  std::string_view problem_;  // set by a step that answers kBad
};

}  // namespace strata::cli
