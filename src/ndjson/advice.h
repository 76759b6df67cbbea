#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ndjson/problem.h"

namespace strata::ndjson {

/// A body that is no text at all, so that lines and their numbers mean nothing.
struct NotText {
  std::string reason;
  std::string advice;
};

/// Recognises compressed data and UTF-16 by their first bytes, which no NDJSON can begin with.
std::optional<NotText> recognise_not_text(std::string_view body);

/// The usual slip behind a body whose first line (blank ones left out) fails with `problem`: a JSON
/// array, an object over several lines, CSV, line ends lost by `curl -d`. Empty if none is known.
std::string advice_for(std::string_view body, Problem problem);

}  // namespace strata::ndjson
