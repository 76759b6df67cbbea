#include <algorithm>

#include "ontology/rules.h"
#include "ontology/words/lists.h"
#include "ontology/words/times.h"
#include "ontology/words/types.h"

namespace strata::ontology {
namespace {

/// The entity with the longest stem that `column` is named after.
Entity* named_after(Draft& draft, const Column& column) {
  Entity* longest = nullptr;
  for (Entity& entity : draft.entities) {
    if (!starts_with(column.words, entity.stem) || entity.key == &column) continue;
    if (column.stem == entity.stem) continue;
    if (longest == nullptr || longest->stem.size() < entity.stem.size()) longest = &entity;
  }
  return longest;
}

/// Whether `entity` fixes the column; of what a stream lists, one row a thing, it does by nature.
Result<bool> fixes(const Draft& draft, const Entity& entity, const Column& column,
                   Dependencies& dependencies) {
  if (draft.is_feed(entity)) return true;
  return dependencies.determines(*entity.key, column);
}

/// The index of the entity that this column is the key of and that has nothing else.
std::optional<std::size_t> lone_entity(const Draft& draft, const Column& column) {
  for (std::size_t i = 0; i < draft.entities.size(); ++i) {
    const Entity& entity = draft.entities[i];
    if (entity.key == &column && entity.attributes.empty() && draft.feed != i) return i;
  }
  return std::nullopt;
}

bool is_event(const Column& column) {
  return column.role == Role::kTime && !words::any_in(column.words, words::kLifeWords);
}

/// Where rows have only times of lives, that with the most moments is theirs.
const Column* last_resort_time(const Draft& draft) {
  if (std::ranges::any_of(draft.columns, is_event)) return nullptr;
  const Column* most = nullptr;
  for (const Column& column : draft.columns) {
    if (column.role != Role::kTime) continue;
    if (most == nullptr || most->profile->distinct < column.profile->distinct) most = &column;
  }
  return most;
}

/// The coarsest entity that fixes what tells of no event: when it began, where it stands.
Result<Entity*> owner_by_rows(Draft& draft, const Column& column, Dependencies& dependencies) {
  Entity* owner = nullptr;
  for (Entity& entity : draft.entities) {
    if (owner != nullptr && owner->key->profile->distinct <= entity.key->profile->distinct) {
      continue;
    }
    STRATA_ASSIGN_OR_RETURN(const bool fixed, dependencies.determines(*entity.key, column));
    if (fixed) owner = &entity;
  }
  return owner;
}

/// Columns that are of a thing even if their names say not of which: when it began, where it
/// stands, what is said of it by yes and no.
bool of_a_life(const Column& column) {
  if (column.role == Role::kTime) return !is_event(column);
  return column.role == Role::kFlag ||
         (column.role == Role::kMeasure && words::any_in(column.words, words::kPlaceWords));
}

/// product_class groups products, and may group them across streams.
bool is_own_type(const Column& column) {
  return !column.words.empty() && words::is_in(column.words.back(), words::kOwnTypeEndings);
}

bool may_be_category_of(const Draft& draft, const Column& column) {
  switch (column.role) {
    case Role::kCategory:
      if (is_own_type(column)) return false;
      [[fallthrough]];
    case Role::kLabel:
      return draft.is_free(column) || lone_entity(draft, column);
    case Role::kIdentifier:
      return draft.is_free(column) || (column.words.back() == "code" && lone_entity(draft, column));
    default:
      return false;
  }
}

bool may_be_other_property(const Column& column) {
  return column.role == Role::kFlag || column.role == Role::kText || column.role == Role::kTime ||
         column.role == Role::kMeasure;
}

/// Gives the column to the entity that fixes it, whatever its name.
Result<void> take_by_rows(Draft& draft, const Column& column, std::string_view rule,
                          Dependencies& dependencies) {
  STRATA_ASSIGN_OR_RETURN(Entity* const owner, owner_by_rows(draft, column, dependencies));
  if (owner != nullptr) {
    owner->attributes.push_back({.column = &column, .rule = std::string(rule)});
  }
  return {};
}

/// Gives the column to the entity it is named after, if that one fixes it.
Result<bool> take(Draft& draft, const Column& column, std::string_view rule,
                  Dependencies& dependencies) {
  Entity* const owner = named_after(draft, column);
  if (owner == nullptr) return false;
  STRATA_ASSIGN_OR_RETURN(const bool fixed, fixes(draft, *owner, column, dependencies));
  if (!fixed) return false;
  owner->attributes.push_back({.column = &column, .rule = std::string(rule)});
  return true;
}

}  // namespace

Result<void> take_categories(Draft& draft, Dependencies& dependencies) {
  for (const Column& column : draft.columns) {
    if (!may_be_category_of(draft, column)) continue;
    STRATA_ASSIGN_OR_RETURN(const bool taken, take(draft, column, "S3", dependencies));
    if (taken) {
      // Looked up only now: what was erased before has moved it.
      if (const auto own = lone_entity(draft, column)) draft.erase(*own);
    } else if (draft.is_free(column) && only_describes(column, dependencies.rows()) &&
               !words::is_in(column.words.back(), words::kTimeParts)) {
      STRATA_RETURN_IF_ERROR(take_by_rows(draft, column, "S8", dependencies));
    }
  }
  return {};
}

Result<void> take_other_properties(Draft& draft, Dependencies& dependencies) {
  const Column* const kept = last_resort_time(draft);
  for (const Column& column : draft.columns) {
    if (!may_be_other_property(column)) continue;
    STRATA_ASSIGN_OR_RETURN(const bool taken, take(draft, column, "S5", dependencies));
    if (!taken && of_a_life(column)) {
      STRATA_RETURN_IF_ERROR(take_by_rows(draft, column, "S5", dependencies));
    }
  }
  for (Entity& entity : draft.entities) {
    for (Attribute& attribute : entity.attributes) {
      attribute.also_in_fact = is_event(*attribute.column) || attribute.column == kept;
    }
  }
  return {};
}

}  // namespace strata::ontology
