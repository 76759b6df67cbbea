#pragma once

#include <ostream>
#include <string_view>

#include "base/error.h"

namespace strata::app {

/// How a command that works without a server tells why it failed.
inline void print_failure(std::ostream& err, std::string_view command, const Error& error) {
  err << "strata " << command << ": " << error.message << '\n';
  if (!error.detail.empty()) err << "  " << error.detail << '\n';
}

}  // namespace strata::app
