#include <cstdlib>
#include <string_view>

#include "duck/worker_pool.h"

/// The program the tests start as a worker: nothing but worker_main().
int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "worker") return strata::duck::worker_main();
  return EXIT_FAILURE;
}
