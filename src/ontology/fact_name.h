#pragma once

#include <string>

#include "base/error.h"
#include "ontology/dependencies.h"
#include "ontology/draft.h"

namespace strata::ontology {

/// What the rows of a fact are called, without `fact`: (1) the lines of a header, (2) what their
/// own id is of, else the first word that columns share which tell of no entity, (3) what is
/// measured, (4) the stream's name. Errors: the evidence's.
Result<Words> fact_name(const Draft& draft, const std::string& stream_name,
                        Dependencies& dependencies);
/// The stream's name as words, its last singular.
Words stream_words(const std::string& stream_name);

}  // namespace strata::ontology
