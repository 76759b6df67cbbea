#include "ontology/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cells.h"
#include "ontology/words/abbreviations.h"
#include "ontology/words/identifiers.h"
#include "ontology/words/labels.h"
#include "ontology/words/lists.h"
#include "ontology/words/plurals.h"
#include "ontology/words/reserved.h"

namespace strata::ontology {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// Bytes beyond ASCII are letters: names are UTF-8.
bool is_part(char c) {
  return is_upper(c) || is_lower(c) || is_digit(c) || (static_cast<unsigned char>(c) & 0x80U) != 0;
}

/// Whether a word begins at `at`: `payGrade` has two, `HTTPStatus` too.
bool begins_word(std::string_view name, std::size_t at) {
  if (at == 0 || !is_part(name[at - 1])) return true;
  if (!is_upper(name[at])) return false;
  if (!is_upper(name[at - 1])) return true;
  return at + 1 < name.size() && is_lower(name[at + 1]);
}

/// `userid` is two words, `paid` is one: the noun has to be known.
Words unglued(const std::string& word) {
  static constexpr std::string_view kEndings[] = {"code", "id", "key", "name", "no", "num"};
  for (const std::string_view ending : kEndings) {
    if (!word.ends_with(ending)) continue;
    const std::string noun = word.substr(0, word.size() - ending.size());
    if (words::is_in(noun, words::kGluedNouns) || words::value_of(noun, words::kAbbreviations)) {
      return {noun, std::string(ending)};
    }
  }
  return {word};
}

bool only_points(const std::string& word) {
  return words::is_in(word, words::kIdentifierEndings) || words::is_in(word, words::kLabelEndings);
}

/// Cut between two characters of its UTF-8.
std::string_view cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end);
}

}  // namespace

Words split_name(std::string_view name) {
  Words words;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (!is_part(name[at])) continue;
    if (begins_word(name, at)) words.emplace_back();
    words.back() += ascii_lower(name.substr(at, 1));
  }
  return words;
}

Words words_of(std::string_view name) {
  Words words;
  for (const std::string& written : split_name(name)) {
    for (std::string& word : unglued(written)) {
      const auto meant = words::value_of(word, words::kAbbreviations);
      words.push_back(meant ? std::string(*meant) : std::move(word));
    }
  }
  return words;
}

Words stem_of(const Words& words) {
  Words stem = words;
  const bool label = !stem.empty() && words::is_in(stem.back(), words::kLabelEndings);
  while (!stem.empty() && only_points(stem.back())) {
    if (stem.size() == 1 && words::is_in(stem.back(), words::kIdentifierNouns)) break;
    stem.pop_back();
  }
  if (stem.size() > 1 && words::is_in(stem.front(), words::kIdentifierBeginnings)) {
    stem.erase(stem.begin());
  }
  if (label && stem.size() == 1 && words::is_in(stem.front(), words::kNameParts)) stem.clear();
  if (!stem.empty()) stem.back() = singular(stem.back());
  return stem;
}

std::string singular(std::string_view word) {
  if (const auto known = words::value_of(word, words::kIrregularPlurals))
    return std::string(*known);
  const auto without = [&](std::size_t bytes) {
    return std::string(word.substr(0, word.size() - bytes));
  };
  if (words::is_in(word, words::kSingularAsTheyAre) || word.size() < 4) return std::string(word);
  for (const std::string_view ending : {"ss", "us", "is"}) {
    if (word.ends_with(ending)) return std::string(word);
  }
  if (word.ends_with("ies") && word.size() > 4) return without(3) + "y";
  for (const std::string_view ending : {"sses", "ches", "shes", "xes"}) {
    if (word.ends_with(ending)) return without(2);
  }
  return word.ends_with("s") ? without(1) : std::string(word);
}

bool starts_with(const Words& words, const Words& beginning) {
  if (beginning.empty() || words.size() < beginning.size()) return false;
  for (std::size_t i = 0; i < beginning.size(); ++i) {
    if (words[i] != beginning[i] && singular(words[i]) != beginning[i]) return false;
  }
  return true;
}

std::string name_below(std::string_view name, const Words& stem) {
  Words rest = words_of(name);
  if (!starts_with(rest, stem) || rest.size() == stem.size()) return snake_case(split_name(name));
  rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(stem.size()));
  return snake_case(rest);
}

std::string pascal_case(const Words& words) {
  std::string name;
  for (const std::string& word : words) {
    name += word;
    char& first = name[name.size() - word.size()];
    if (is_lower(first)) first = static_cast<char>(first - 'a' + 'A');
  }
  return name;
}

std::string snake_case(const Words& words) { return fmt::format("{}", fmt::join(words, "_")); }

std::string NameSet::take(std::string_view wanted, std::string_view mark) {
  std::string name(cut(wanted, kNameBytesMax));
  if (name.empty()) name = "unnamed";
  const std::string lower = ascii_lower(name);
  const bool reserved =
      reserved_ == Reserved::kAvoid &&
      (words::is_in(lower, words::kReservedNames) || lower.starts_with(words::kReservedBeginning));
  if (!reserved && taken_.insert(lower).second) return name;
  for (std::size_t number = 2;; ++number) {
    const std::string ending = fmt::format("{}{}", mark, number);
    const std::string numbered = std::string(cut(name, kNameBytesMax - ending.size())) + ending;
    if (taken_.insert(ascii_lower(numbered)).second) return numbered;
  }
}

}  // namespace strata::ontology
