#include "http/body_budget.h"

#include <algorithm>
#include <utility>

namespace strata::http {

bool BodyBudget::Share::take(std::uint64_t bytes) {
  std::uint64_t held = budget_.held_bytes();
  do {
    if (held > budget_.bytes_max_ || bytes > budget_.bytes_max_ - held) return false;
  } while (
      !budget_.held_bytes_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
  bytes_ += bytes;
  return true;
}

bool BodyBudget::Share::make_room(std::string& text, std::size_t more, std::uint64_t bytes_max) {
  const std::size_t enough = text.size() + more;
  if (enough <= text.capacity()) return true;
  const auto doubled = static_cast<std::size_t>(
      std::min<std::uint64_t>(std::uint64_t{2} * text.capacity(), bytes_max));
  std::size_t capacity = std::max(enough, doubled);
  if (!take(capacity - text.capacity())) {
    capacity = enough;
    if (!take(capacity - text.capacity())) return false;
  }
  // A text that has some capacity already would be given twice as much, whatever is asked for.
  std::string roomy;
  roomy.reserve(capacity);
  roomy += text;
  text.swap(roomy);
  return true;
}

void BodyBudget::Share::give_back() {
  budget_.held_bytes_.fetch_sub(std::exchange(bytes_, 0), std::memory_order_relaxed);
}

}  // namespace strata::http
