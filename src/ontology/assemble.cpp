#include "ontology/assemble.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/ids.h"
#include "ontology/fact_name.h"
#include "ontology/measures.h"
#include "ontology/rules.h"

namespace strata::ontology {
namespace {

/// Makes the model of one draft; used once. `nullptr` in place of an entity is the fact.
class Assembly {
 public:
  Assembly(const Draft& draft, Dependencies& dependencies, const SynthesisContext& context)
      : draft_(draft), dependencies_(dependencies), context_(context) {}

  Result<Model> build() {
    STRATA_RETURN_IF_ERROR(name_types());
    if (!draft_.feed) STRATA_RETURN_IF_ERROR(add_fact());
    for (const Entity& entity : draft_.entities) STRATA_RETURN_IF_ERROR(add_entity(entity));
    add_row_links();
    STRATA_RETURN_IF_ERROR(suggest_links());
    std::ranges::sort(model_.types, {}, [](const ObjectType& type) {
      return std::tuple(type.kind != Kind::kFact, std::string_view(type.name));
    });
    std::ranges::sort(model_.links, {},
                      [](const Link& link) { return std::tie(link.from, link.to, link.column); });
    return std::move(model_);
  }

 private:
  struct Wanted {
    Words words;
    const Entity* entity;
  };
  struct TypeNames {
    std::string type;
    std::string view;
  };

  Result<void> name_types();
  Result<void> add_fact();
  Result<void> add_entity(const Entity& entity);
  Result<void> finish(ObjectType type, std::vector<Property> properties);
  void add_row_links();
  Result<void> suggest_links();

  Property property_of(const Column& column, std::string name, std::vector<std::string> rules);
  ColumnType type_of(const Column& column) const;
  void sum_by_name(Property& property, const Column& column);
  std::vector<Property> own_properties(const Entity* entity);
  std::string role_name_of(const Entity& entity, const Column& key) const;

  const Entity* host() const { return draft_.feed ? &draft_.entities[*draft_.feed] : nullptr; }

  const Draft& draft_;
  Dependencies& dependencies_;
  const SynthesisContext& context_;
  std::map<const Entity*, TypeNames> names_;
  Model model_;
};

/// Of a property in several roles, whose columns are `first` and `more` (nullptr: none): what loses
/// no cell of any. Text where no other type does: a flight to 05 is none to 5.
ColumnType type_in_roles(const Column& first, const std::vector<const Column*>& more) {
  ColumnType type = first.profile->type;
  for (const Column* const column : more) {
    if (column != nullptr) type = common_type(type, column->profile->type).value_or(ColumnType());
  }
  return type;
}

/// What a property of an entity is called.
std::string attribute_name(const Entity& entity, const Column& column) {
  // The plain word beside a code is its name: department beside department_id.
  if (column.words == entity.prefix) return "name";
  return name_below(column.name(), entity.prefix);
}

/// The key keeps its column's name; in several roles, without what says which one.
std::string key_name(const Entity& entity) {
  if (entity.prefix == entity.stem || entity.more_keys.empty()) {
    return snake_case(split_name(entity.key->name()));
  }
  Words role = entity.prefix;
  if (role.size() <= entity.stem.size()) return snake_case(entity.stem);
  role.resize(role.size() - entity.stem.size());
  return name_below(entity.key->name(), role);
}

Result<void> Assembly::name_types() {
  std::vector<Wanted> wanted;
  if (!draft_.feed) {
    STRATA_ASSIGN_OR_RETURN(Words words, fact_name(draft_, context_.stream_name, dependencies_));
    words.emplace_back("fact");
    wanted.push_back({std::move(words), nullptr});
  }
  for (const Entity& entity : draft_.entities) {
    wanted.push_back(
        {entity.stem.empty() ? stream_words(context_.stream_name) : entity.stem, &entity});
  }
  std::ranges::sort(wanted, {}, [](const Wanted& one) {
    return std::tuple(pascal_case(one.words), one.entity == nullptr ? "" : one.entity->key->name());
  });
  NameSet types(NameSet::Reserved::kAllow);
  NameSet views(NameSet::Reserved::kAvoid);
  for (const Wanted& one : wanted) {
    names_[one.entity] = {types.take(pascal_case(one.words), ""),
                          views.take(snake_case(one.words), "_")};
  }
  return {};
}

Property Assembly::property_of(const Column& column, std::string name,
                               std::vector<std::string> rules) {
  return {.name = std::move(name),
          .column = column.name(),
          .role = column.role,
          .type = type_of(column),
          .rules = std::move(rules)};
}

/// A column that is a key in one of several roles is typed as the key, in the fact too: they are
/// joined.
ColumnType Assembly::type_of(const Column& column) const {
  for (const Entity& entity : draft_.entities) {
    const bool in_more = std::ranges::find(entity.more_keys, &column) != entity.more_keys.end();
    if (entity.key == &column || in_more) {
      return type_in_roles(*entity.key, entity.more_keys);
    }
  }
  return column.profile->type;
}

void Assembly::sum_by_name(Property& property, const Column& column) {
  if (column.role != Role::kMeasure) return;
  const Summing summing = summing_by_name(column, draft_.columns);
  property.additivity = summing.additivity;
  property.rate_per_period = summing.rate_per_period;
  property.unit = unit_of(column, draft_.columns);
  property.rules.emplace_back("S10");
}

/// What rows have themselves: of the fact, or of the entity that a feed lists.
std::vector<Property> Assembly::own_properties(const Entity* entity) {
  std::vector<Property> properties;
  for (const Column& column : draft_.columns) {
    if (entity != nullptr && entity->key == &column) continue;
    const Attribute* const attribute = draft_.attribute(column);
    if (attribute != nullptr && !attribute->also_in_fact) continue;
    std::vector<std::string> rules;
    if (attribute != nullptr) rules = {attribute->rule};
    if (attribute == nullptr && !draft_.is_free(column)) rules = {"S6"};
    if (attribute == nullptr && only_describes(column, dependencies_.rows())) rules = {"S8"};
    properties.push_back(property_of(
        column,
        entity == nullptr ? snake_case(split_name(column.name())) : attribute_name(*entity, column),
        std::move(rules)));
  }
  return properties;
}

Result<void> Assembly::add_fact() {
  ObjectType type{.kind = Kind::kFact};
  type.name = names_[nullptr].type;
  type.view = names_[nullptr].view;
  const Column* const id = row_id(draft_, dependencies_);
  std::vector<Property> properties = own_properties(nullptr);
  for (const Column& column : draft_.columns) {
    const auto found = std::ranges::find(properties, column.name(), &Property::column);
    if (found == properties.end()) continue;
    if (&column == id) {
      type.key = *found;
      type.key->rules = {"S4"};
      properties.erase(found);
    } else if (column.role == Role::kMeasure) {
      sum_by_name(*found, column);
      STRATA_ASSIGN_OR_RETURN(const Summing summing, summing_of(column, draft_, dependencies_));
      found->additivity = summing.additivity;
      if (summing.owner != nullptr) found->entity = names_[summing.owner].type;
    }
  }
  return finish(std::move(type), std::move(properties));
}

Result<void> Assembly::add_entity(const Entity& entity) {
  ObjectType type{.kind = Kind::kDimension, .rules = entity.rules};
  type.name = names_[&entity].type;
  type.view = names_[&entity].view;
  type.key = property_of(*entity.key, key_name(entity), entity.rules);
  for (const Column* const more : entity.more_keys) type.key->more_columns.push_back(more->name());
  std::vector<Property> properties;
  if (draft_.is_feed(entity)) {
    type.rules.emplace_back("S9");
    properties = own_properties(&entity);
  }
  for (const Attribute& attribute : entity.attributes) {
    Property property =
        property_of(*attribute.column, attribute_name(entity, *attribute.column), {attribute.rule});
    property.type = type_in_roles(*attribute.column, attribute.more);
    for (const Column* const more : attribute.more) {
      property.more_columns.push_back(more == nullptr ? "" : more->name());
    }
    properties.push_back(std::move(property));
  }
  for (Property& property : properties) {
    sum_by_name(property, *std::ranges::find(draft_.columns, property.column, &Column::name));
  }
  return finish(std::move(type), std::move(properties));
}

/// Names that differ, ids, order.
Result<void> Assembly::finish(ObjectType type, std::vector<Property> properties) {
  STRATA_ASSIGN_OR_RETURN(type.id, uuid_v5(context_.kb_uuid, type.name));
  NameSet names(NameSet::Reserved::kAvoid);
  std::ranges::sort(properties, {}, [](const Property& property) {
    return std::tie(property.name, property.column);
  });
  const auto complete = [&](Property& property) -> Result<void> {
    property.name = names.take(property.name, "_");
    STRATA_ASSIGN_OR_RETURN(property.id, uuid_v5(type.id, property.name));
    return {};
  };
  if (type.key) STRATA_RETURN_IF_ERROR(complete(*type.key));
  for (Property& property : properties) STRATA_RETURN_IF_ERROR(complete(property));
  std::ranges::sort(properties, {}, &Property::name);
  type.properties = std::move(properties);
  model_.types.push_back(std::move(type));
  return {};
}

std::string Assembly::role_name_of(const Entity& entity, const Column& key) const {
  const bool in_roles = !entity.more_keys.empty();
  if (in_roles && !key.stem.empty()) return snake_case(key.stem);
  return snake_case(entity.stem.empty() ? stream_words(context_.stream_name) : entity.stem);
}

void Assembly::add_row_links() {
  for (const Entity& entity : draft_.entities) {
    std::vector<const Column*> keys = entity.more_keys;
    if (!draft_.is_feed(entity)) keys.push_back(entity.key);
    for (const Column* const key : keys) {
      model_.links.push_back({.name = role_name_of(entity, *key),
                              .from = names_[host()].type,
                              .to = names_[&entity].type,
                              .column = key->name(),
                              .rules = {entity.more_keys.empty() ? "S6" : "S7"}});
    }
  }
}

Result<void> Assembly::suggest_links() {
  for (const Entity& from : draft_.entities) {
    if (from.unique) continue;  // of a feed they stand already; of others nothing repeats
    for (const Entity& to : draft_.entities) {
      std::vector<const Column*> keys = to.more_keys;
      if (&from != &to && !draft_.is_feed(to)) keys.push_back(to.key);
      for (const Column* const key : keys) {
        STRATA_ASSIGN_OR_RETURN(const auto luck, dependencies_.luck(*from.key, *key));
        if (!luck) continue;
        model_.links.push_back({.name = role_name_of(to, *key),
                                .from = names_[&from].type,
                                .to = names_[&to].type,
                                .column = key->name(),
                                .status = Status::kSuggested,
                                .log10_luck = luck,
                                .rules = {"S6"}});
      }
    }
  }
  return {};
}

}  // namespace

Result<Model> assemble(const Draft& draft, Dependencies& dependencies,
                       const SynthesisContext& context) {
  return Assembly(draft, dependencies, context).build();
}

}  // namespace strata::ontology
