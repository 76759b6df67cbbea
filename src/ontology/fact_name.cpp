#include "ontology/fact_name.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ontology/rules.h"
#include "ontology/words/fact_names.h"
#include "ontology/words/lists.h"

namespace strata::ontology {
namespace {

/// The entity below which the ordinal counts: nearly every row is a pair of its own.
Result<const Entity*> header_of(const Draft& draft, const Column& ordinal,
                                Dependencies& dependencies) {
  for (const Entity& entity : draft.entities) {
    if (entity.key->role != Role::kIdentifier || entity.unique || entity.stem.empty()) continue;
    STRATA_ASSIGN_OR_RETURN(const std::uint64_t pairs, dependencies.evidence().distinct_pairs(
                                                           entity.key->name(), ordinal.name()));
    const std::uint64_t empty = entity.key->profile->nulls + ordinal.profile->nulls;
    const auto cells =
        static_cast<double>(dependencies.rows() - std::min(dependencies.rows(), empty));
    const double missing = noise_share(dependencies.rows());
    if (pairs > 0 && static_cast<double>(pairs) >= cells * (1 - missing)) return &entity;
  }
  return static_cast<const Entity*>(nullptr);
}

/// Rule 1.
Result<Words> line_of_header(const Draft& draft, Dependencies& dependencies) {
  for (const Column& column : draft.columns) {
    // What numbers all rows tells no header's lines apart.
    if (column.role != Role::kOrdinal || is_unique(*column.profile, dependencies.rows())) continue;
    STRATA_ASSIGN_OR_RETURN(const Entity* const header, header_of(draft, column, dependencies));
    if (header == nullptr) continue;
    Words name = header->stem;
    name.emplace_back("line");
    return name;
  }
  return Words{};
}

/// Whether a word can be what rows are called.
bool names_entity(const Draft& draft, const std::string& word) {
  return std::ranges::any_of(draft.entities, [&](const Entity& entity) {
    const bool said = entity.key->role == Role::kIdentifier || entity.key->role == Role::kLabel;
    return said && !entity.prefix.empty() && entity.prefix.front() == word;
  });
}

/// Columns that can only be the fact's: when, how much, and its own id.
bool tells_of_rows(const Draft& draft, const Column& column) {
  return column.role == Role::kTime || column.role == Role::kMeasure ||
         (column.role == Role::kIdentifier && draft.is_free(column));
}

/// Rule 2, where rows have an id of their own: they are what it is the id of.
Words of_row_id(const Draft& draft, const Dependencies& dependencies) {
  const Column* const id = row_id(draft, dependencies);
  if (id == nullptr || id->stem.empty()) return {};
  return words::is_in(id->stem.back(), words::kNoFactNames) ? Words() : id->stem;
}

/// Rule 2.
Words shared_first_word(const Draft& draft) {
  struct Sharers {
    std::size_t columns = 0;
    bool of_rows = false;
    bool not_only_measures = false;
  };
  std::map<std::string, Sharers> by_word;
  for (const Column& column : draft.columns) {
    if (column.words.size() < 2) continue;
    Sharers& sharers = by_word[column.words.front()];
    ++sharers.columns;
    sharers.of_rows |= tells_of_rows(draft, column);
    sharers.not_only_measures |= column.role != Role::kMeasure;
  }
  std::size_t most = 1;
  Words name;
  for (const auto& [word, sharers] : by_word) {
    if (!sharers.of_rows || !sharers.not_only_measures || sharers.columns <= most) continue;
    if (words::is_in(word, words::kNoFactNames) || names_entity(draft, word)) continue;
    most = sharers.columns;
    name = {singular(word)};
  }
  return name;
}

/// Rule 3: a word for at least half of what is measured.
Words measured(const Draft& draft) {
  const auto is_measure = [](const Column& column) { return column.role == Role::kMeasure; };
  const auto measures = std::ranges::count_if(draft.columns, is_measure);
  for (const words::MeasureNoun& line : words::kFactNouns) {
    const auto fitting = std::ranges::count_if(draft.columns, [&](const Column& column) {
      return is_measure(column) && words::any_in(column.words, line.words);
    });
    if (fitting > 0 && 2 * fitting >= measures) return {std::string(line.noun)};
  }
  return {};
}

}  // namespace

Result<Words> fact_name(const Draft& draft, const std::string& stream_name,
                        Dependencies& dependencies) {
  STRATA_ASSIGN_OR_RETURN(Words name, line_of_header(draft, dependencies));
  if (name.empty()) name = of_row_id(draft, dependencies);
  if (name.empty()) name = shared_first_word(draft);
  if (name.empty()) name = measured(draft);
  return name.empty() ? stream_words(stream_name) : name;
}

Words stream_words(const std::string& stream_name) {
  Words words = split_name(stream_name);
  if (words.size() > 1 && words.back() == "fact") words.pop_back();
  if (words.empty()) words = {"row"};
  words.back() = singular(words.back());
  return words;
}

}  // namespace strata::ontology
