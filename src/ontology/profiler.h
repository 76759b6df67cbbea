#pragma once

#include "base/error.h"
#include "duck/workbench.h"
#include "kb/table_files.h"
#include "ontology/profile.h"
#include "ontology/snapshot.h"

namespace strata::ontology {

/// Counts every column of a snapshot, exactly: one grouped pass for each, then questions to what
/// that pass found. Errors: the workbench's.
Result<Profile> profile_table(duck::Workbench& bench, const FrozenTable& table);

/// Keeps it as `.profile.json` in the table's folder, in place of an older one; durable when it
/// returns.
Result<void> store_profile(kb::TableFiles& files, const TableId& table, const Profile& profile);

}  // namespace strata::ontology
