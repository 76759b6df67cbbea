#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

/// Where deleted things are kept: a delete moves a folder aside and removes nothing.
namespace strata::kb {

/// Beside what it keeps; no legal id begins with a dot.
inline constexpr std::string_view kDeletedFolder = ".deleted";

/// `<id>.20261129T230346Z.1f2e3d4c`: says what it was and when it went; never taken twice.
std::string aside_name(std::string_view id, const Clock& clock);

}  // namespace strata::kb
