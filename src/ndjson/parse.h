#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/cells.h"
#include "base/limits.h"

namespace strata::ndjson {

/// What is wrong with one line; `line` counts every line from 1 (0: the body has no record),
/// `column` is the record's key where one is known and fit to show, `reason` is a sentence that
/// says what to do, with places as bytes of the line from 1 (a byte order mark not counted).
struct LineError {
  std::uint64_t line = 0;
  std::string column;
  std::string reason;
};

/// Why a body is refused as a whole: no row of it lands.
struct Rejection {
  std::vector<LineError> errors;  // the first kErrorsReportedMax, in line order
  std::uint64_t error_count = 0;
  std::string advice;  // a usual slip recognised (JSON array, CSV, `curl -d`), or empty
};

struct Rules {
  /// The receiver's registered columns, exact spelling; empty: any column.
  std::vector<std::string> registered;
};

/// Strict NDJSON (RFC 8259 per line) to text cells, by the rules that architecture.md settles.
/// Blank lines, CRLF, a missing final newline and a UTF-8 BOM at the start are accepted. Cells
/// point into `body`, which must outlive the table. Zero records is a Rejection. Linear in the
/// body, memory bounded by a small multiple of it. No state: any thread.
std::expected<CellTable, Rejection> parse(std::string_view body, const Rules& rules);

/// Whether `name` (any ASCII case) is kept for Strata: `filename`, `_batch_id`, `_dt`, `_hour`,
/// `_received_at`, anything beginning `_strata`.
bool is_reserved_column(std::string_view name);

/// Why `name` cannot be a column (empty, control characters, too long, reserved, not UTF-8), as a
/// sentence; empty when it can. The same rule for keys in records and for registered columns.
std::string column_name_problem(std::string_view name);

}  // namespace strata::ndjson
