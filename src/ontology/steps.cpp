#include "ontology/steps.h"

#include <utility>

namespace strata::ontology {

Error unexpected_answer(std::string detail) {
  return make_error(Code::kInternal, "a step of this job answered what it should not",
                    std::move(detail));
}

Result<CellReader> only_row(duck::Workbench& bench, const duck::Sql& select) {
  STRATA_ASSIGN_OR_RETURN(auto rows, bench.rows(select, 1, kStepLimit));
  if (rows.size() != 1) return unexpected_answer(select.str());
  return CellReader(std::move(rows.front()));
}

Result<std::uint64_t> count(duck::Workbench& bench, const duck::Sql& select) {
  STRATA_ASSIGN_OR_RETURN(CellReader row, only_row(bench, select));
  const std::uint64_t number = row.number();
  if (!row.whole()) return unexpected_answer(select.str());
  return number;
}

}  // namespace strata::ontology
