#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace strata {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "strata: broken invariant %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace strata
