#pragma once

#include <string_view>

namespace strata::kb {

/// In the kb's folder.
inline constexpr std::string_view kCatalogFile = "catalog.sqlite";
/// What it is called once its rows are in PostgreSQL.
inline constexpr std::string_view kMigratedCatalogFile = "catalog.sqlite.migrated";

}  // namespace strata::kb
