#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace strata::kb {

/// One thing a token allows: `ingest:KB/STREAM`, `read:KB`, `model:KB` or `admin`. The kb and the
/// stream need not exist: a token may be made before them.
struct Scope {
  enum class Kind : std::uint8_t { kIngest, kRead, kModel, kAdmin };

  Kind kind = Kind::kRead;
  std::string kb;      // empty for admin
  std::string stream;  // for ingest only

  /// kBadRequest: says how a scope is spelled.
  static Result<Scope> parse(std::string_view text);
  /// What parse() reads.
  std::string str() const;
  bool operator==(const Scope&) const = default;
};

}  // namespace strata::kb
