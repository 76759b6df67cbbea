#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace strata::ontology::words {

/// How the lists beside this file are read.
inline bool is_in(const auto& word, const auto& list) {
  return std::ranges::find(list, word) != std::ranges::end(list);
}

inline bool any_in(const auto& some_words, const auto& list) {
  return std::ranges::any_of(some_words, [&](const auto& word) { return is_in(word, list); });
}

/// What a list of pairs has for the word.
inline std::optional<std::string_view> value_of(std::string_view word, const auto& pairs) {
  for (const auto& [key, value] : pairs) {
    if (key == word) return value;
  }
  return std::nullopt;
}

}  // namespace strata::ontology::words
