#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/whole_number.h"
#include "duck/workbench.h"

/// Small steps over a workbench; private to this folder.
namespace strata::ontology {

/// No step takes nearly as long: what does is stuck.
inline constexpr std::chrono::milliseconds kStepLimit{600'000};

/// Reads a row's cells one after the other. One that is missing, NULL or no number breaks a promise
/// of our own SQL: it reads as nothing, and the reader is not whole().
class CellReader {
 public:
  explicit CellReader(duck::TextRow row) : row_(std::move(row)) {}

  std::string text() {
    if (next_ >= row_.size() || !row_[next_]) {
      failed_ = true;
      return {};
    }
    return std::move(*row_[next_++]);
  }
  std::uint64_t number() {
    const auto value = parse_whole_number(text());
    failed_ = failed_ || !value;
    return value.value_or(0);
  }
  /// Every cell was there, and none is left.
  bool whole() const { return !failed_ && next_ == row_.size(); }

 private:
  duck::TextRow row_;
  std::size_t next_ = 0;
  bool failed_ = false;
};

/// kInternal: a step answered what its SQL cannot.
Error unexpected_answer(std::string detail);
/// The one number that `select` answers.
Result<std::uint64_t> count(duck::Workbench& bench, const duck::Sql& select);
/// The one row that `select` answers.
Result<CellReader> only_row(duck::Workbench& bench, const duck::Sql& select);

}  // namespace strata::ontology
