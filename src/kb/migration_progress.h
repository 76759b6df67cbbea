#pragma once

#include <functional>
#include <string_view>

namespace strata::kb {

/// What whoever asked for it hears of it, and says.
struct MigrationProgress {
  std::function<void(std::string_view step)> step = [](std::string_view) {};
  /// Heeded until the catalog is switched over.
  std::function<bool()> cancelled = [] { return false; };
};

}  // namespace strata::kb
