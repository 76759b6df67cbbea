#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string_view>
#include <vector>

#include "duck/testing/sandbox_attempts.h"
#include "duck/worker_limits.h"
#include "duck/worker_pool.h"

namespace {

/// Allocates until it cannot.
void fill_address_space(std::vector<std::vector<char>>& held) {
  constexpr std::size_t kStepBytes = 8UL * 1024 * 1024;
  for (;;) held.emplace_back(kStepBytes);
}

void fill_without_a_way_out() noexcept {
  std::vector<std::vector<char>> held;
  fill_address_space(held);
}

/// For worker_limits_test.cpp: lives under a worker's limits and dies as told.
int die(std::string_view how) {
  strata::duck::apply_process_limits({.address_space_bytes = 256UL * 1024 * 1024});
  std::vector<std::vector<char>> held;
  if (how == "terminate") fill_without_a_way_out();
  if (how == "crash-full") {
    try {
      fill_address_space(held);
    } catch (const std::bad_alloc&) {
      std::raise(SIGSEGV);
    }
  }
  if (how == "crash") std::raise(SIGSEGV);
  return EXIT_SUCCESS;
}

}  // namespace

/// The program the tests start as a worker: worker_main(), and its limits and sandbox alone.
int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "worker") return strata::duck::worker_main();
  if (argc == 3 && std::string_view(argv[1]) == "die") return die(argv[2]);
  if (argc == 4 && std::string_view(argv[1]) == "attempt") {
    return strata::duck::attempt_everything(argv[2], argv[3]);
  }
  return EXIT_FAILURE;
}
