#include "ontology/draft.h"

#include <algorithm>

#include "ontology/words/lists.h"

namespace strata::ontology {

bool Entity::labelled() const {
  return std::ranges::any_of(attributes, [](const Attribute& attribute) {
    return attribute.column->role == Role::kLabel || attribute.column->role == Role::kCategory;
  });
}

const Attribute* Draft::attribute(const Column& column) const {
  for (const Entity& entity : entities) {
    for (const Attribute& attribute : entity.attributes) {
      if (attribute.column == &column || words::is_in(&column, attribute.more)) return &attribute;
    }
  }
  return nullptr;
}

bool Draft::is_free(const Column& column) const {
  const bool key = std::ranges::any_of(entities, [&](const Entity& entity) {
    return entity.key == &column || words::is_in(&column, entity.more_keys);
  });
  return !key && attribute(column) == nullptr;
}

bool Draft::is_feed(const Entity& entity) const { return feed && &entity == &entities[*feed]; }

void Draft::erase(std::size_t index) {
  entities.erase(entities.begin() + static_cast<std::ptrdiff_t>(index));
  if (feed && *feed > index) --*feed;
}

}  // namespace strata::ontology
