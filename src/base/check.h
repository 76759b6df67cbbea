#pragma once

namespace strata {

/// Prints the broken invariant and aborts. Start-up recovery makes an abort safe (I1 to I3).
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace strata

/// A broken invariant is our own bug: on in release too, never for input.
#define STRATA_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::strata::check_failed(#condition, __FILE__, __LINE__))
