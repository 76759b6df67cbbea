#pragma once

#include <chrono>

#include "base/error.h"
#include "kb/knowledgebases.h"
#include "ontology/applied.h"

/// What the catalog says is active and what the newest generation shows are written one after the
/// other, and the kb's folder may be moved: here they are brought together again.
namespace strata::ontology {

/// Settles a version that stayed pending, and makes the views again where they are not those of the
/// active version over the kb's folder as it is now: a process may have ended before it published
/// them, or the folder was moved. Looks first; takes the kb's lock, waiting no longer than `wait`,
/// only where something is to be done. Nothing where the kb has no version: its views stay. The
/// catalog decides, whatever the views are of. Thread-safe.
/// Errors: kBusy, and those of catalog, lock and generations.
Result<void> settle(kb::Knowledgebase& knowledgebase, std::chrono::milliseconds wait);

/// A version that stayed pending becomes active if its views are there, else it goes. The kb's lock
/// is held: whoever puts a version holds it until that is active.
Result<void> settle_pending(kb::Knowledgebase& knowledgebase);

/// Whether the newest generation has all views of `all` over the kb's folder as it is now, and
/// no other one of the schema `ontology`; tables whose files are gone have none. Of nothing: yes,
/// whatever it has.
Result<bool> has_views_of(kb::Knowledgebase& knowledgebase, const Applied& all);

/// One generation with all of `all`'s views and no other one of the schema `ontology`; tables
/// whose files are gone have none. The kb's lock is held.
Result<void> publish_views(kb::Knowledgebase& knowledgebase, const Applied& all);

}  // namespace strata::ontology
