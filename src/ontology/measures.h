#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ontology/dependencies.h"
#include "ontology/draft.h"

namespace strata::ontology {

/// S10. What a measure may be summed over. `owner`: the entity whose every row has the same value
/// again, if kEntityLevel; points into the draft.
struct Summing {
  Additivity additivity = Additivity::kAdditive;
  const Entity* owner = nullptr;
  bool rate_per_period = false;
};
/// By its name alone, among those of `columns`: of a measure that is an entity's own property.
Summing summing_by_name(const Column& measure, const std::vector<Column>& columns);
/// Of a measure in the fact. Errors: the evidence's.
Result<Summing> summing_of(const Column& measure, const Draft& draft, Dependencies& dependencies);

/// The value of the constant column that says what the measure is counted in: a currency for money,
/// `weight_unit` for what is called weight, `unit` for all that is no money. Empty: none does.
std::string unit_of(const Column& measure, const std::vector<Column>& columns);

}  // namespace strata::ontology
