#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace strata::crash {

/// Processes that start each round together, by a counter in a file of 8 zero bytes that all of
/// them map. Whoever leaves early never arrives, and the others go on alone.
class Barrier {
 public:
  /// Without a file nobody waits.
  Barrier(const std::string& file, int parties);
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;
  ~Barrier();

  void wait();

 private:
  const std::uint64_t parties_;
  std::uint64_t round_ = 0;
  std::atomic<std::uint64_t>* arrived_ = nullptr;
};

}  // namespace strata::crash
