#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "catalog/ontology_versions.h"
#include "catalog/postgres_database.h"

namespace strata::catalog {

/// Private to this folder. `database` outlives it.
class PostgresOntology final : public OntologyVersions {
 public:
  PostgresOntology(PostgresDatabase& database, std::string kb_uuid)
      : database_(database), kb_(std::move(kb_uuid)) {}

  Result<bool> put_pending(const VersionRow& row) override;
  Result<void> activate(std::uint64_t version) override;
  Result<void> refresh(std::uint64_t version, const std::string& content) override;
  Result<void> drop_pending(std::uint64_t version) override;
  Result<std::vector<VersionRow>> list() override;
  Result<std::optional<VersionRow>> active() override;
  Result<std::optional<VersionRow>> pending() override;

  /// Parts of a transaction over the kb's whole catalog.
  Result<std::vector<VersionRow>> all(PostgresConnection& session) const;
  Result<void> replace_all(PostgresConnection& session,
                           const std::vector<VersionRow>& versions) const;

 private:
  Result<bool> insert(const VersionRow& row);
  Result<std::optional<std::uint64_t>> in_the_way_of(std::uint64_t version);
  Result<std::optional<VersionRow>> in_state(std::string_view state);

  PostgresDatabase& database_;
  const std::string kb_;
};

}  // namespace strata::catalog
