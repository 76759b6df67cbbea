#pragma once

#include <string>

#include "base/error.h"
#include "ontology/evidence.h"
#include "ontology/model.h"
#include "ontology/profile.h"

namespace strata::ontology {

struct SynthesisContext {
  std::string kb_uuid;      // what ids are derived from
  std::string stream_name;  // the last resort for a fact's name
};

/// The data model of one table, by the rules S1 to S10 of ontology-and-ask.md 1.4 and its naming
/// rules: a pure function of the profile and of what `evidence` answers. Errors: evidence's.
Result<Model> synthesise(const Profile& profile, Evidence& evidence,
                         const SynthesisContext& context);

}  // namespace strata::ontology
