#pragma once

/// The machine's clock in microseconds since 1970, one instant in a statement. SQLite knows whole
/// milliseconds.
#define STRATA_SQLITE_NOW \
  "(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)"
