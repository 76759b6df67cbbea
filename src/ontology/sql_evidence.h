#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "duck/workbench.h"
#include "ontology/evidence.h"
#include "ontology/profile.h"
#include "ontology/snapshot.h"

namespace strata::ontology {

/// From which sizes on dependencies are screened before they are counted.
struct ScreeningLimits {
  std::uint64_t rows_exact_max = 1'000'000;  // up to so many everything is counted exactly
  /// A column of fewer distinct cells is never screened: all of its few entities would be looked at
  /// or none, and counting it is cheap.
  std::uint64_t distinct_min = 2'000;
  std::uint64_t rows_screened = 250'000;  // about so many rows are looked at
};

/// Evidence by SQL over a snapshot and what its profile says. Each pair of columns is counted once.
///
/// Of a dependency that fails in more than 30 % of the rows nobody asks how likely luck is: it is
/// 0.
///
/// Beyond `rows_exact_max` rows, a dependency is first looked at on the rows of some of the
/// entities of `from`, all rows of each: those whose cell has a stable_hash (MD5) that a fixed
/// number divides. One that fails there in more than 30 % answers that figure; else all rows are
/// counted.
class SqlEvidence final : public Evidence {
 public:
  /// `bench` outlives it; `profile` is of `table`.
  SqlEvidence(duck::Workbench& bench, FrozenTable table, const Profile& profile,
              ScreeningLimits limits = {});

  Result<Dependency> dependency(const std::string& from, const std::string& to,
                                const std::string& grain) override;
  Result<std::uint64_t> distinct_pairs(const std::string& one, const std::string& other) override;
  Result<double> containment(const std::string& part, const std::string& whole) override;

 private:
  struct Column {
    std::string name;
    std::uint64_t nulls = 0;
    std::uint64_t distinct = 0;
    bool verbatim = false;
  };
  using Index = std::size_t;  // of a column
  using Pair = std::pair<Index, Index>;
  /// Over all rows, of a pair whose lower index comes first.
  struct Counted {
    double g3 = 1;       // of first to second
    double g3_back = 1;  // of second to first
    std::uint64_t distinct_pairs = 0;
  };

  Result<Index> find(const std::string& name) const;
  duck::Sql cell(Index column) const;
  /// `cell`, a cell of `column`, as the profile takes it.
  duck::Sql clean(Index column, const duck::Sql& cell) const;

  Result<void> make_pairs(Pair pair);
  Result<Counted> counted(Pair pair);
  Result<std::optional<double>> g3_of(const duck::Sql& counted);
  Result<double> g3(Pair pair);
  Result<void> screen(Index from);
  Result<void> make_grains(Pair pair, std::optional<Index> grain);
  Result<double> log10_luck(Pair pair, std::optional<Index> grain);
  Result<std::vector<std::pair<std::uint64_t, std::uint64_t>>> histogram(const duck::Sql& sizes);

  duck::Workbench& bench_;
  const FrozenTable table_;
  const ScreeningLimits limits_;
  std::vector<Column> columns_;
  std::optional<Pair> made_;                           // what the table `pairs` holds
  std::map<Pair, Counted> counted_;                    // lower index first
  std::map<Index, std::map<Index, double>> screened_;  // g3 of from to each, on some entities
  std::map<std::pair<Pair, std::optional<Index>>, Dependency> dependencies_;  // by grain too
  std::map<Pair, double> containments_;
};

}  // namespace strata::ontology
