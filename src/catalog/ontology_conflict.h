#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "base/error.h"

/// What both versions answer to a call that finds a version in another state. Private to this
/// folder.
namespace strata::catalog {

inline Error other_is_pending(std::uint64_t version, std::uint64_t pending) {
  return make_error(Code::kConflict,
                    fmt::format("Version {} of the ontology cannot be made while version {} is "
                                "pending.",
                                version, pending));
}

inline Error not_pending(std::uint64_t version) {
  return make_error(
      Code::kConflict,
      fmt::format("Version {} of the ontology is not pending, so it cannot become the active one.",
                  version));
}

inline Error not_active(std::uint64_t version) {
  return make_error(
      Code::kConflict,
      fmt::format("Version {} of the ontology is not the active one, so it is not refreshed.",
                  version));
}

}  // namespace strata::catalog
