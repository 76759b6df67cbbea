#pragma once

#include <string_view>

#include "base/error.h"

namespace strata::duck {

/// What check_library_version says of a library that calls itself `version` (`v1.5.6`). Text that
/// is no version is refused like an old one: nothing is known of that library.
Result<void> check_version(std::string_view version);

}  // namespace strata::duck
