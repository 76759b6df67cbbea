#include <algorithm>

#include "ontology/rules.h"

namespace strata::ontology {
namespace {

Column& own(std::vector<Column>& columns, const Column& column) {
  return *std::ranges::find(columns, column.name(), &Column::name);
}

/// Words: names by rule, or each the key's only one.
Result<bool> is_name_of(const Attribute& attribute, const Column& key, Dependencies& dependencies) {
  if (is_number(attribute.column->profile->type)) return false;
  if (attribute.rule == "S1" || attribute.rule == "S2") return true;
  return dependencies.same_thing(key, *attribute.column);
}

/// Text that has no name for a code and is one all the same: `TH-0007`, or the hex of a session.
/// Grades and tiers have digits too, but few values.
bool is_unnamed_code(const Column& column, std::uint64_t rows) {
  constexpr std::uint64_t kHashMin = 8;
  const ColumnProfile& profile = *column.profile;
  if (column.role != Role::kCategory || is_number(profile.type)) return false;
  if (has_few_values(profile, rows)) return false;
  const bool one_length =
      profile.length_min >= kHashMin && profile.length_min == profile.length_max;
  return looks_like_codes(profile) ||
         (one_length && std::ranges::all_of(profile.masks, [](const CountedText& mask) {
            return mask.text.contains('9') && !mask.text.contains(' ');
          }));
}

}  // namespace

Result<void> settle_roles(std::vector<Column>& columns, const Draft& draft,
                          Dependencies& dependencies) {
  for (const Entity& entity : draft.entities) {
    for (const Attribute& attribute : entity.attributes) {
      if (attribute.column->role != Role::kCategory) continue;
      STRATA_ASSIGN_OR_RETURN(const bool name, is_name_of(attribute, *entity.key, dependencies));
      if (!name) continue;
      own(columns, *attribute.column).role = Role::kLabel;
      for (const Column* const more : attribute.more) {
        if (more != nullptr) own(columns, *more).role = Role::kLabel;
      }
    }
    if (entity.attributes.empty() || entity.key->role != Role::kCategory) continue;
    own(columns, *entity.key).role = Role::kIdentifier;
    for (const Column* const more : entity.more_keys) own(columns, *more).role = Role::kIdentifier;
  }
  for (Column& column : columns) {
    const bool attribute = draft.attribute(column) != nullptr;
    if (attribute || !is_unnamed_code(column, dependencies.rows())) continue;
    // A thing's, or the row's own.
    if (!draft.is_free(column) || is_unique(*column.profile, dependencies.rows())) {
      column.role = Role::kIdentifier;
    }
  }
  return {};
}

}  // namespace strata::ontology
