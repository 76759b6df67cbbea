#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "base/check.h"

namespace strata::ndjson {

/// Holds every cell text that is not a piece of the body, in one string that is made when first
/// needed and never grows beyond what it reserved, because cells point into it. Unescaping and
/// compacting shorten disjoint pieces of the body, so the body's size is enough. Not thread-safe.
class TextArena {
 public:
  /// `strings` owns the text and outlives the arena.
  TextArena(std::deque<std::string>& strings, std::size_t bytes_max)
      : strings_(strings), bytes_max_(bytes_max) {}

  /// Where the next text is appended: note size(), append, then take since() that size.
  std::string& buffer() {
    if (buffer_ == nullptr) {
      buffer_ = &strings_.emplace_back();
      buffer_->reserve(bytes_max_);
      home_ = buffer_->data();
    }
    return *buffer_;
  }

  std::size_t size() const { return buffer_ == nullptr ? 0 : buffer_->size(); }

  std::string_view since(std::size_t begin) const {
    STRATA_CHECK(buffer_->data() == home_);
    return std::string_view(*buffer_).substr(begin);
  }

 private:
  std::deque<std::string>& strings_;
  std::size_t bytes_max_;
  std::string* buffer_ = nullptr;
  const char* home_ = nullptr;
};

}  // namespace strata::ndjson
