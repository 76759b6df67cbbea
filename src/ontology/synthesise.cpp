#include "ontology/synthesise.h"

#include "ontology/assemble.h"
#include "ontology/dependencies.h"
#include "ontology/draft.h"
#include "ontology/rules.h"

namespace strata::ontology {

Result<Model> synthesise(const Profile& profile, Evidence& evidence,
                         const SynthesisContext& context) {
  std::vector<Column> columns = read_columns(profile);
  Dependencies dependencies(columns, profile.rows, evidence);
  Draft draft{.columns = columns};
  // Each rule builds on what those before it left.
  STRATA_RETURN_IF_ERROR(propose_entities(draft, dependencies));
  STRATA_RETURN_IF_ERROR(join_names_to_codes(draft, dependencies));
  find_feed(draft, dependencies);
  drop_unique_without_label(draft);
  STRATA_RETURN_IF_ERROR(take_categories(draft, dependencies));
  STRATA_RETURN_IF_ERROR(take_other_properties(draft, dependencies));
  STRATA_RETURN_IF_ERROR(merge_roles(draft, dependencies));
  STRATA_RETURN_IF_ERROR(settle_roles(columns, draft, dependencies));
  return assemble(draft, dependencies, context);
}

}  // namespace strata::ontology
