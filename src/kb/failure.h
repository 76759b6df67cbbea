#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.h"

namespace strata::kb {

/// A failure of the file layer while doing `what` ("The root could not be opened"). There a missing
/// or taken name has a meaning for the caller; one that nobody expected is only a failed read or
/// write. Private to this folder.
inline Error failed_to(std::string_view what, Error cause) {
  if (cause.code == Code::kNotFound || cause.code == Code::kExists) cause.code = Code::kIo;
  cause.message = fmt::format("{}. {}", what, cause.message);
  return cause;
}

}  // namespace strata::kb
