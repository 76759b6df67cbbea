#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/error.h"
#include "catalog/catalog.h"

/// The catalogs of a root without PostgreSQL: one SQLite file each, beside what it indexes.
/// A row is durable when its put returns. Rollback journal, not WAL: at rest the catalog is one
/// file, so `cp -r` of a kb is whole, and no shared memory is needed, so it works between hosts.
namespace strata::catalog {

/// How long a call waits for another writer before it answers kBusy.
inline constexpr std::chrono::milliseconds kSqliteBusyWait{5'000};

/// Makes the file and its tables where they are missing. kConflict: a newer Strata wrote it.
Result<std::unique_ptr<Catalog>> open_sqlite_catalog(
    const std::string& path, std::chrono::milliseconds busy_wait = kSqliteBusyWait);
Result<std::unique_ptr<RootCatalog>> open_sqlite_root_catalog(
    const std::string& path, std::chrono::milliseconds busy_wait = kSqliteBusyWait);

/// The same, but opened by the first call that needs it, and tried again by the next one after a
/// failure: for owners that must work while their index does not.
std::unique_ptr<Catalog> make_sqlite_catalog(const std::string& path);
std::unique_ptr<RootCatalog> make_sqlite_root_catalog(const std::string& path);

/// A copy of either catalog as one transaction saw it, by SQLite's backup API, while others write.
/// `to` must not exist; it is durable when this returns. Nothing at `from`: nothing is made,
/// because a catalog is an index that is rebuilt. Errors: kBusy, kDiskFull, kIo.
Result<void> back_up_sqlite(const std::string& from, const std::string& to);

}  // namespace strata::catalog
