#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "kb/backend_history.h"

namespace strata::kb {

/// A kb's catalog, wherever it is: each call looks where that is now, because any process may move
/// it. A call that looked just before a move writes where the catalog was; whoever moves it brings
/// the index in line with the files afterwards (migration.h). No landing comes here.
/// Thread-safe. Errors: those of Catalog and of the look; kIo where this node has no PostgreSQL.
class PlacedCatalog final : public catalog::Catalog {
 public:
  /// `postgres` null: the node has none. `history` is borrowed.
  PlacedCatalog(BackendHistory& history, std::unique_ptr<catalog::Catalog> file,
                std::unique_ptr<catalog::Catalog> postgres);

  /// The one of that backend, wherever the catalog is now; null: this node has none.
  catalog::Catalog* in(Backend backend) const;
  Result<catalog::Catalog*> now() const;

  Result<void> put_manifest(const catalog::ManifestRow& row) override;
  Result<std::vector<catalog::ManifestRow>> manifest() override;
  Result<void> put_receiver(const catalog::ReceiverRow& row) override;
  Result<std::vector<catalog::ReceiverRow>> receivers() override;
  Result<void> remove_stream(const std::string& stream) override;
  catalog::Jobs& jobs() override { return *jobs_; }
  catalog::OntologyVersions& ontology() override { return *ontology_; }
  Result<catalog::CatalogContent> content() override;
  Result<void> replace_content(const catalog::CatalogContent& content) override;

 private:
  BackendHistory& history_;
  const std::unique_ptr<catalog::Catalog> file_;
  const std::unique_ptr<catalog::Catalog> postgres_;
  const std::unique_ptr<catalog::Jobs> jobs_;
  const std::unique_ptr<catalog::OntologyVersions> ontology_;
};

}  // namespace strata::kb
