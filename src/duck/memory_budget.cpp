#include "duck/memory_budget.h"

namespace strata::duck {

MemoryBudget::Share::Share(MemoryBudget& budget, std::uint64_t bytes)
    : budget_(budget), bytes_(bytes) {
  std::unique_lock lock(budget_.mutex_);
  const std::uint64_t ticket = budget_.next_ticket_++;
  budget_.changed_.wait(lock, [this, ticket] {
    const bool fits = budget_.bytes_taken_ == 0 || budget_.bytes_taken_ + bytes_ <= budget_.bytes_;
    return ticket == budget_.ticket_served_ && fits;
  });
  ++budget_.ticket_served_;
  budget_.bytes_taken_ += bytes_;
  budget_.changed_.notify_all();
}

MemoryBudget::Share::~Share() {
  const std::lock_guard lock(budget_.mutex_);
  budget_.bytes_taken_ -= bytes_;
  budget_.changed_.notify_all();
}

}  // namespace strata::duck
