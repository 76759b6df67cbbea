#include "lock/kb_lock.h"

namespace strata::lock {

std::string_view purpose_name(Purpose purpose) {
  switch (purpose) {
    case Purpose::kView:
      return "view";
    case Purpose::kOntology:
      return "ontology";
    case Purpose::kResync:
      return "resync";
    case Purpose::kRelocate:
      return "relocate";
    case Purpose::kUpload:
      return "upload";
    case Purpose::kDrop:
      return "drop";
    case Purpose::kMigrate:
      return "migrate";
  }
  check_failed("a purpose of the enumeration", __FILE__, __LINE__);
}

void AcquisitionCounter::add(const Key& key) {
  const std::lock_guard guard(mutex_);
  ++counts_[key];
}

std::map<AcquisitionCounter::Key, std::uint64_t> AcquisitionCounter::snapshot() const {
  const std::lock_guard guard(mutex_);
  return counts_;
}

}  // namespace strata::lock
