#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ontology/roles.h"

namespace strata::ontology {

/// A column that tells of an entity, and why. `more`: the same in its other roles.
struct Attribute {
  const Column* column = nullptr;
  std::string rule;
  std::vector<const Column*> more;  // as Entity::more_keys; nullptr where a role has none
  bool also_in_fact = false;
};

/// A thing that rows are about. `stem` empty: called after the stream.
struct Entity {
  Words stem;
  Words prefix;  // what the names of its columns begin with: the stem, or that of one role
  const Column* key = nullptr;
  std::vector<const Column*> more_keys;  // of its other roles in a row
  std::vector<Attribute> attributes;
  bool unique = false;  // each row has its own
  std::vector<std::string> rules;

  /// Whether another column than the key says which one it is.
  bool labelled() const;
};

/// What the rules have made of a table so far. Points to its columns. A column that no entity has
/// is the fact's.
struct Draft {
  const std::vector<Column>& columns;
  std::vector<Entity> entities;
  /// S9: there is no fact, rows are things of this one. Index into `entities`.
  std::optional<std::size_t> feed;

  const Attribute* attribute(const Column& column) const;
  /// Nobody's key or attribute.
  bool is_free(const Column& column) const;
  bool is_feed(const Entity& entity) const;
  void erase(std::size_t index);
};

}  // namespace strata::ontology
