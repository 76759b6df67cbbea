#include "kb/placed_catalog.h"

#include <optional>
#include <utility>

namespace strata::kb {
namespace {

using catalog::Catalog;
using catalog::Jobs;
using catalog::OntologyVersions;
using catalog::VersionRow;

/// What `call` answers of the catalog where it is now.
template <typename Call>
auto there(const PlacedCatalog& placed, Call call) -> decltype(call(std::declval<Catalog&>())) {
  STRATA_ASSIGN_OR_RETURN(Catalog* const catalog, placed.now());
  return call(*catalog);
}

class PlacedJobs final : public Jobs {
 public:
  explicit PlacedJobs(const PlacedCatalog& placed) : placed_(placed) {}

  Result<std::optional<catalog::JobRow>> start(const catalog::NewJob& job) override {
    return there(placed_, [&job](Catalog& catalog) { return catalog.jobs().start(job); });
  }
  Result<catalog::JobHold> beat(const catalog::JobBeat& beat) override {
    return there(placed_, [&beat](Catalog& catalog) { return catalog.jobs().beat(beat); });
  }
  Result<bool> end(const catalog::JobEnd& end) override {
    return there(placed_, [&end](Catalog& catalog) { return catalog.jobs().end(end); });
  }
  Result<bool> request_cancel(const std::string& id) override {
    return there(placed_, [&id](Catalog& catalog) { return catalog.jobs().request_cancel(id); });
  }
  Result<std::optional<catalog::JobRow>> job(const std::string& id) override {
    return there(placed_, [&id](Catalog& catalog) { return catalog.jobs().job(id); });
  }
  Result<std::vector<catalog::JobRow>> list(const catalog::JobPage& page) override {
    return there(placed_, [&page](Catalog& catalog) { return catalog.jobs().list(page); });
  }
  Result<void> fail_abandoned(std::chrono::seconds lease) override {
    return there(placed_,
                 [lease](Catalog& catalog) { return catalog.jobs().fail_abandoned(lease); });
  }

 private:
  const PlacedCatalog& placed_;
};

class PlacedOntology final : public OntologyVersions {
 public:
  explicit PlacedOntology(const PlacedCatalog& placed) : placed_(placed) {}

  Result<bool> put_pending(const VersionRow& row) override {
    return there(placed_, [&row](Catalog& catalog) { return catalog.ontology().put_pending(row); });
  }
  Result<void> activate(std::uint64_t version) override {
    return there(placed_,
                 [version](Catalog& catalog) { return catalog.ontology().activate(version); });
  }
  Result<void> refresh(std::uint64_t version, const std::string& content) override {
    return there(placed_, [version, &content](Catalog& catalog) {
      return catalog.ontology().refresh(version, content);
    });
  }
  Result<void> drop_pending(std::uint64_t version) override {
    return there(placed_,
                 [version](Catalog& catalog) { return catalog.ontology().drop_pending(version); });
  }
  Result<std::vector<VersionRow>> list() override {
    return there(placed_, [](Catalog& catalog) { return catalog.ontology().list(); });
  }
  Result<std::optional<VersionRow>> active() override {
    return there(placed_, [](Catalog& catalog) { return catalog.ontology().active(); });
  }
  Result<std::optional<VersionRow>> pending() override {
    return there(placed_, [](Catalog& catalog) { return catalog.ontology().pending(); });
  }

 private:
  const PlacedCatalog& placed_;
};

}  // namespace

PlacedCatalog::PlacedCatalog(BackendHistory& history, std::unique_ptr<Catalog> file,
                             std::unique_ptr<Catalog> postgres)
    : history_(history),
      file_(std::move(file)),
      postgres_(std::move(postgres)),
      jobs_(std::make_unique<PlacedJobs>(*this)),
      ontology_(std::make_unique<PlacedOntology>(*this)) {}

Catalog* PlacedCatalog::in(Backend backend) const {
  return backend == Backend::kFile ? file_.get() : postgres_.get();
}

Result<Catalog*> PlacedCatalog::now() const {
  STRATA_ASSIGN_OR_RETURN(const BackendHistory::Entry newest, history_.newest());
  if (Catalog* const catalog = in(newest.state.backend)) return catalog;
  return make_error(Code::kIo,
                    "This knowledgebase's catalog is in PostgreSQL, and this node was started "
                    "without --postgres: name it there.");
}

Result<void> PlacedCatalog::put_manifest(const catalog::ManifestRow& row) {
  return there(*this, [&row](Catalog& catalog) { return catalog.put_manifest(row); });
}

Result<std::vector<catalog::ManifestRow>> PlacedCatalog::manifest() {
  return there(*this, [](Catalog& catalog) { return catalog.manifest(); });
}

Result<void> PlacedCatalog::put_receiver(const catalog::ReceiverRow& row) {
  return there(*this, [&row](Catalog& catalog) { return catalog.put_receiver(row); });
}

Result<std::vector<catalog::ReceiverRow>> PlacedCatalog::receivers() {
  return there(*this, [](Catalog& catalog) { return catalog.receivers(); });
}

Result<void> PlacedCatalog::remove_stream(const std::string& stream) {
  return there(*this, [&stream](Catalog& catalog) { return catalog.remove_stream(stream); });
}

Result<catalog::CatalogContent> PlacedCatalog::content() {
  return there(*this, [](Catalog& catalog) { return catalog.content(); });
}

Result<void> PlacedCatalog::replace_content(const catalog::CatalogContent& content) {
  return there(*this, [&content](Catalog& catalog) { return catalog.replace_content(content); });
}

}  // namespace strata::kb
