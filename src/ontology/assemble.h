#pragma once

#include "base/error.h"
#include "ontology/dependencies.h"
#include "ontology/draft.h"
#include "ontology/synthesise.h"

namespace strata::ontology {

/// The draft as a model: names, ids, additivity (S10), units, links (S6). Errors: the evidence's;
/// kBadId if the kb's UUID is none.
Result<Model> assemble(const Draft& draft, Dependencies& dependencies,
                       const SynthesisContext& context);

}  // namespace strata::ontology
