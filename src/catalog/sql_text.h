#pragma once

#include <cstddef>

namespace strata::catalog {

/// SQL text that is a compile-time literal: values are bound, so none can become syntax.
struct SqlText {
  template <std::size_t N>
  consteval SqlText(const char (&literal)[N]) : text(literal) {}  // NOLINT: implicit
  const char* text;
};

}  // namespace strata::catalog
