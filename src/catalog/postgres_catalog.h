#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "catalog/catalog.h"
#include "catalog/postgres_database.h"

/// The catalogs of a root with PostgreSQL: the tables of the SQLite version, in one database for
/// the root and all its kbs. A row is durable when its put returns, if the server's
/// `synchronous_commit` is on, as it is by itself.
namespace strata::catalog {

/// The database with Strata's tables, for all catalogs of a root: they share its connections.
/// `clock` must outlive it. kBadRequest: no URL of PostgreSQL.
Result<std::unique_ptr<PostgresDatabase>> make_postgres_database(const PostgresOptions& options,
                                                                 const Clock& clock);

/// `database` must outlive them; nothing is connected to yet. Errors: those of PostgresDatabase.
std::unique_ptr<RootCatalog> make_postgres_root_catalog(PostgresDatabase& database);
std::unique_ptr<Catalog> make_postgres_catalog(PostgresDatabase& database,
                                               const std::string& kb_uuid);

}  // namespace strata::catalog
