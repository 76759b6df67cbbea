#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace strata::duck {

/// Lets calls run side by side as long as what they are expected to need fits together; the others
/// wait, first come, first served, so that small ones do not keep a large one out for ever. One
/// that needs more than there is runs alone. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t bytes) : bytes_(bytes) {}

  /// Held while a call runs. The constructor waits for its turn.
  class Share {
   public:
    Share(MemoryBudget& budget, std::uint64_t bytes);
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share();

   private:
    MemoryBudget& budget_;
    const std::uint64_t bytes_;
  };

 private:
  const std::uint64_t bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::uint64_t bytes_taken_ = 0;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t ticket_served_ = 0;
};

}  // namespace strata::duck
