#include "ontology/measures.h"

#include <algorithm>

#include "ontology/words/lists.h"
#include "ontology/words/measures.h"
#include "ontology/words/types.h"

namespace strata::ontology {
namespace {

bool stands_at_a_time(const Words& words) {
  return words::any_in(words, words::kSemiAdditiveWords) ||
         !std::ranges::search(words, words::kOnHand).empty();
}

/// The measure's words; in `running_time_min` minutes, as a minimum has a maximum beside it.
Words words_with_minutes(const Column& measure, const std::vector<Column>& columns) {
  Words words = measure.words;
  if (words.size() < 2 || words.back() != "min") return words;
  if (!words::is_in(words[words.size() - 2], words::kTimeSpans)) return words;
  words.back() = "max";
  const bool minimum = std::ranges::find(columns, words, &Column::words) != columns.end();
  words.back() = minimum ? "min" : "minutes";
  return words;
}

bool is_money(const Column& column) { return words::any_in(column.words, words::kMoneyWords); }

/// Whether a constant column's value is the unit of this measure.
bool is_unit_of(const Column& unit, const Column& measure, bool any_money) {
  const std::string& noun = unit.stem.back();
  Words what = unit.stem;
  what.pop_back();
  if (!what.empty() && starts_with(measure.words, what)) return true;
  if (noun != "currency") return what.empty() && !is_money(measure);
  // Where no name says money, amounts with decimals are the best guess there is.
  return any_money ? is_money(measure) : measure.profile->type.type == Type::kDecimal;
}

}  // namespace

Summing summing_by_name(const Column& measure, const std::vector<Column>& columns) {
  Summing summing;
  const Words words = words_with_minutes(measure, columns);
  summing.rate_per_period = words::any_in(words, words::kPerPeriodWords);
  if (stands_at_a_time(words)) {
    summing.additivity = Additivity::kSemiAdditive;
  } else if (words::any_in(words, words::kNonAdditiveWords) && !words::is_in("total", words)) {
    // A total price is a sum already.
    summing.additivity = Additivity::kNonAdditive;
  }
  return summing;
}

Result<Summing> summing_of(const Column& measure, const Draft& draft, Dependencies& dependencies) {
  Summing summing = summing_by_name(measure, draft.columns);
  if (summing.additivity != Additivity::kAdditive) return summing;
  for (const Entity& entity : draft.entities) {
    const bool coarser = summing.owner == nullptr ||
                         entity.key->profile->distinct < summing.owner->key->profile->distinct;
    if (!coarser) continue;
    STRATA_ASSIGN_OR_RETURN(const bool fixed, dependencies.determines(*entity.key, measure));
    if (fixed) summing.owner = &entity;
  }
  if (summing.owner != nullptr) summing.additivity = Additivity::kEntityLevel;
  return summing;
}

std::string unit_of(const Column& measure, const std::vector<Column>& columns) {
  const bool any_money = std::ranges::any_of(columns, [](const Column& column) {
    return column.role == Role::kMeasure && is_money(column);
  });
  const Column* best = nullptr;
  for (const Column& column : columns) {
    if (column.role != Role::kConstant || column.stem.empty()) continue;
    if (!words::is_in(column.stem.back(), words::kUnitWords)) continue;
    if (!is_unit_of(column, measure, any_money)) continue;
    // The longer name is about fewer measures.
    if (best == nullptr || best->stem.size() < column.stem.size()) best = &column;
  }
  return best == nullptr ? std::string() : best->profile->top.front().text;
}

}  // namespace strata::ontology
