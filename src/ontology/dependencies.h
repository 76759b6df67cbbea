#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ontology/evidence.h"
#include "ontology/roles.h"

namespace strata::ontology {

/// Which columns determine which, as far as the rows are evidence. Points to the columns and to
/// the evidence, which outlive it. Not thread-safe. Errors: the evidence's.
class Dependencies {
 public:
  Dependencies(const std::vector<Column>& columns, std::uint64_t rows, Evidence& evidence);

  /// The log10 of the luck it would take, if `from` fixes `to` in all rows but noise (NULLs of
  /// `to` are no contradiction where they are few), explains what it says, and that is no luck:
  /// log10 P < -6 - log10(pairs tested). Nothing if not; of a unique `from` nothing repeats.
  Result<std::optional<double>> luck(const Column& from, const Column& to);
  /// Whether there is such a luck.
  Result<bool> determines(const Column& from, const Column& to);
  /// determines() in both directions: each is a name for the other.
  Result<bool> same_thing(const Column& one, const Column& other);
  /// Whether the rows do not contradict that `from` fixes `to`; of a unique one they cannot.
  Result<bool> agrees(const Column& from, const Column& to);

  std::uint64_t rows() const { return rows_; }
  Evidence& evidence() { return evidence_; }

 private:
  Result<double> contradiction(const Column& from, const Column& to);
  Result<std::optional<double>> no_luck(const Column& from, const Column& to);
  Result<std::string> grain(const Column& from, const Column& to);

  const std::vector<Column>& columns_;
  std::uint64_t rows_;
  Evidence& evidence_;
  double bar_;
};

}  // namespace strata::ontology
