#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace strata::ontology {

/// How well `from` determines `to`. NULL in `to` is a value like others; rows whose `from` is NULL
/// do not count.
struct Dependency {
  /// The share of rows that would have to go for it to hold: 0 holds exactly.
  double g3 = 1;
  /// log10 of the probability that it holds by luck, over groups of `from` that repeat: 0 where
  /// nothing repeats, or where it plainly does not hold, which says nothing.
  double log10_luck = 0;
};

/// What is counted in a snapshot when a rule asks for it. Answers are exact up to a million rows;
/// beyond, dependencies are screened on whole entities and those that survive counted exactly.
/// Columns are named as registered. Not thread-safe. Errors: those of the worker that counts.
class Evidence {
 public:
  virtual ~Evidence() = default;
  /// `grain`: the column whose every value has one row in truth, that luck is counted over (rows
  /// alike in `grain`, `from` and `to` are one); empty: all rows. g3 is always that of all rows.
  virtual Result<Dependency> dependency(const std::string& from, const std::string& to,
                                        const std::string& grain) = 0;
  /// Distinct pairs of two columns, both not null-like.
  virtual Result<std::uint64_t> distinct_pairs(const std::string& one,
                                               const std::string& other) = 0;
  /// The share of `part`'s distinct cells that `whole` has too.
  virtual Result<double> containment(const std::string& part, const std::string& whole) = 0;
};

}  // namespace strata::ontology
