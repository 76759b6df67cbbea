#pragma once

#include "base/error.h"
#include "ontology/dependencies.h"
#include "ontology/draft.h"

namespace strata::ontology {

// The rules that find entities and what they own, in the order in which synthesise applies them.
// Errors: the evidence's.

/// S1: one candidate for each stem of identifiers, labels and categories; S8: but for columns that
/// only describe, and numbers.
Result<void> propose_entities(Draft& draft, Dependencies& dependencies);
/// S2: codes and names of different stems that are each other's in rows that repeat are one thing;
/// a name that says not whose it is belongs to the entity that fixes it.
Result<void> join_names_to_codes(Draft& draft, Dependencies& dependencies);
/// S9: rows that tell neither an amount nor when something happened are things, not facts.
void find_feed(Draft& draft, const Dependencies& dependencies);
/// S4: what is unique and has no name is the fact's own id.
void drop_unique_without_label(Draft& draft);
/// S4: that id, if there is one; points to the draft's columns.
const Column* row_id(const Draft& draft, const Dependencies& dependencies);
/// S8: a column that describes a thing and is none: a status, a zip code, a number that is no code.
bool only_describes(const Column& column, std::uint64_t rows);
/// S3: a category named after an entity that fixes it is its property; S8: what only describes is
/// one of the coarsest entity that fixes it, whatever its name.
Result<void> take_categories(Draft& draft, Dependencies& dependencies);
/// S5: so are flags, texts, times and measures, and by rows alone flags, places and the times of a
/// life; the times of events stay in the fact too.
Result<void> take_other_properties(Draft& draft, Dependencies& dependencies);
/// Roles that only the entities show: a column that has properties is a code, and what is another
/// word for a code is its name; keys, and what is unique, are codes if they look like many.
/// `columns` are the draft's.
Result<void> settle_roles(std::vector<Column>& columns, const Draft& draft,
                          Dependencies& dependencies);
/// S7: one kind of thing in several roles of a row.
Result<void> merge_roles(Draft& draft, Dependencies& dependencies);

}  // namespace strata::ontology
