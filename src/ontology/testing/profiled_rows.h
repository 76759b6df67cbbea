#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ontology/evidence.h"
#include "ontology/profile.h"

namespace strata::ontology {

/// A table of text cells that profiles itself and answers as Evidence, in memory and without SQL:
/// what profile.h and evidence.h say, worked out a second time, for tests to compare with.
class ProfiledRows final : public Evidence {
 public:
  using Cell = std::optional<std::string>;
  using Row = std::vector<Cell>;

  /// Every row has as many cells as there are columns.
  ProfiledRows(std::vector<std::string> columns, std::vector<Row> rows);

  Profile profile() const;
  Result<Dependency> dependency(const std::string& from, const std::string& to,
                                const std::string& grain) override;
  Result<std::uint64_t> distinct_pairs(const std::string& one, const std::string& other) override;
  Result<double> containment(const std::string& part, const std::string& whole) override;

  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::size_t index(const std::string& column) const;
  ColumnProfile profile_of(std::size_t column) const;

  std::vector<std::string> columns_;
  std::vector<Row> rows_;  // cells trimmed, null-like ones NULL
};

}  // namespace strata::ontology
