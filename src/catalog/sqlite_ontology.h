#pragma once

#include <string_view>

#include "catalog/ontology_versions.h"
#include "catalog/sqlite_database.h"

namespace strata::catalog {

/// Private to this folder. `database` outlives it.
class SqliteOntology final : public OntologyVersions {
 public:
  explicit SqliteOntology(SqliteDatabase& database) : database_(database) {}

  Result<bool> put_pending(const VersionRow& row) override;
  Result<void> activate(std::uint64_t version) override;
  Result<void> refresh(std::uint64_t version, const std::string& content) override;
  Result<void> drop_pending(std::uint64_t version) override;
  Result<std::vector<VersionRow>> list() override;
  Result<std::optional<VersionRow>> active() override;
  Result<std::optional<VersionRow>> pending() override;

  /// Parts of a transaction over the whole catalog.
  static Result<std::vector<VersionRow>> all(SqliteSession& session);
  static Result<void> replace_all(SqliteSession& session, const std::vector<VersionRow>& versions);

 private:
  Result<std::optional<VersionRow>> in_state(std::string_view state);

  SqliteDatabase& database_;
};

}  // namespace strata::catalog
