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
  return {};
}

}  // namespace strata::ontology
