#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace strata {

/// The one of `names` that `typed` is most likely a slip for, or nothing when none is near (more
/// than a third of its length away by insertions, deletions and changes of one byte).
std::optional<std::string> nearest_name(std::string_view typed, std::span<const std::string> names);

}  // namespace strata
