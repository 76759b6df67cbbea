#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "base/error.h"

namespace strata::catalog {

/// Whether a program whose scripts end at version `known` may use tables of `version`. kConflict: a
/// newer one wrote them. Private to this folder.
inline Result<void> check_schema_version(std::uint64_t version, std::uint64_t known) {
  if (version <= known) return {};
  return make_error(Code::kConflict,
                    fmt::format("The catalog has schema version {}, and this program knows only "
                                "{}: a newer Strata wrote it. Start that one.",
                                version, known));
}

}  // namespace strata::catalog
