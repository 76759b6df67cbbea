#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/cells.h"
#include "base/error.h"
#include "duck/handles.h"

/// The table function `strata_cells(slot)`: how text cells get into DuckDB without a copy of the
/// batch in between.
namespace strata::duck {

/// What one call of the function yields: the cells' columns under `names`, all VARCHAR, NULL where
/// a row has no field; then, if `batch_id_column` is set, that column with `batch_id` in every row.
struct CellSource {
  std::span<const std::string> names;
  const CellTable& cells;
  std::string batch_id_column;
  std::string_view batch_id;

  std::size_t column_count() const { return names.size() + (batch_id_column.empty() ? 0 : 1); }
};

/// How a statement, which is text, names a source, which is memory: by a number that is never
/// given twice. Thread-safe.
class CellSlots {
 public:
  /// The source's place; `source` must outlive it.
  class Slot {
   public:
    Slot(CellSlots& slots, const CellSource& source);
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot();
    std::int64_t number() const { return number_; }

   private:
    CellSlots& slots_;
    std::int64_t number_;
  };

  /// Null when nothing (any more) has this number.
  const CellSource* find(std::int64_t number) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::int64_t, const CellSource*> sources_;
  std::int64_t last_number_ = 0;
};

/// Makes `strata_cells` known to the connection's whole instance, which `slots` must outlive.
Result<void> register_cells_function(duckdb_connection connection, CellSlots& slots);

}  // namespace strata::duck
