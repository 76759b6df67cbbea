#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace strata::http {

/// How many bytes of request bodies one server holds at most. Thread-safe; outlives its shares.
class BodyBudget {
 public:
  explicit BodyBudget(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  BodyBudget(const BodyBudget&) = delete;
  BodyBudget& operator=(const BodyBudget&) = delete;

  std::uint64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }
  /// As things are now; nothing is set aside.
  bool has_room_for(std::uint64_t bytes) const {
    const std::uint64_t held = held_bytes();
    return held <= bytes_max_ && bytes <= bytes_max_ - held;
  }

  /// What one request holds of it; given back in the end. One thread at a time.
  class Share {
   public:
    explicit Share(BodyBudget& budget) : budget_(budget) {}
    ~Share() { give_back(); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// Holds so many bytes more, before they are allocated. False: there is no room, and it holds
    /// what it held.
    bool take(std::uint64_t bytes);
    /// Takes and allocates room for `more` bytes behind `text`: what is there doubled, so that a
    /// long body is moved a few times only, but not beyond `bytes_max`; or just enough.
    bool make_room(std::string& text, std::size_t more, std::uint64_t bytes_max);
    void give_back();

   private:
    BodyBudget& budget_;
    std::uint64_t bytes_ = 0;
  };

 private:
  const std::uint64_t bytes_max_;
  std::atomic<std::uint64_t> held_bytes_ = 0;
};

}  // namespace strata::http
