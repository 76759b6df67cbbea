#pragma once

#include <duckdb.h>

#include <cstdint>
#include <string>

#include "base/error.h"

namespace strata::duck {

/// Rows of a result as the bytes of an answer. What is appended over the life of one writer, put
/// together, is the whole.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;

  /// What stands before the rows, and there without any.
  virtual Result<void> append_start(std::string& out) = 0;
  /// The rows [begin, end) of `chunk`, whose columns are the writer's. kOutOfMemory: they do not
  /// fit.
  virtual Result<void> append_rows(duckdb_data_chunk chunk, std::uint64_t begin, std::uint64_t end,
                                   std::string& out) = 0;
  /// What stands behind them.
  virtual Result<void> append_end(std::string& out) = 0;
};

}  // namespace strata::duck
