#include "kb/placed_catalog.h"

#include <utility>

namespace strata::kb {

PlacedCatalog::PlacedCatalog(BackendHistory& history, std::unique_ptr<catalog::Catalog> file,
                             std::unique_ptr<catalog::Catalog> postgres)
    : history_(history), file_(std::move(file)), postgres_(std::move(postgres)) {}

catalog::Catalog* PlacedCatalog::in(Backend backend) const {
  return backend == Backend::kFile ? file_.get() : postgres_.get();
}

Result<catalog::Catalog*> PlacedCatalog::now() {
  STRATA_ASSIGN_OR_RETURN(const BackendHistory::Entry newest, history_.newest());
  if (catalog::Catalog* const there = in(newest.state.backend)) return there;
  return make_error(Code::kIo,
                    "This knowledgebase's catalog is in PostgreSQL, and this node was started "
                    "without --postgres: name it there.");
}

Result<void> PlacedCatalog::put_manifest(const catalog::ManifestRow& row) {
  STRATA_ASSIGN_OR_RETURN(catalog::Catalog* const catalog, now());
  return catalog->put_manifest(row);
}

Result<std::vector<catalog::ManifestRow>> PlacedCatalog::manifest() {
  STRATA_ASSIGN_OR_RETURN(catalog::Catalog* const catalog, now());
  return catalog->manifest();
}

Result<void> PlacedCatalog::put_receiver(const catalog::ReceiverRow& row) {
  STRATA_ASSIGN_OR_RETURN(catalog::Catalog* const catalog, now());
  return catalog->put_receiver(row);
}

Result<std::vector<catalog::ReceiverRow>> PlacedCatalog::receivers() {
  STRATA_ASSIGN_OR_RETURN(catalog::Catalog* const catalog, now());
  return catalog->receivers();
}

Result<void> PlacedCatalog::remove_stream(const std::string& stream) {
  STRATA_ASSIGN_OR_RETURN(catalog::Catalog* const catalog, now());
  return catalog->remove_stream(stream);
}

}  // namespace strata::kb
