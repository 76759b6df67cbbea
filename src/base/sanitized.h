#pragma once

namespace strata {

/// Whether a sanitizer's runtime is in this build: it needs address space without a cap, files of
/// its own, and to trace its process.
constexpr bool is_sanitized_build() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
  return true;
#else
  return false;
#endif
#else
  return false;
#endif
}

}  // namespace strata
