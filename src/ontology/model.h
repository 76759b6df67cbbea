#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ontology/profile.h"

namespace strata::ontology {

enum class Role : std::uint8_t {
  kEmpty,
  kConstant,
  kTime,
  kIdentifier,
  kOrdinal,
  kFlag,
  kLabel,
  kText,
  kMeasure,
  kCategory,
};
std::string_view role_name(Role role);

enum class Additivity : std::uint8_t {
  kAdditive,
  kSemiAdditive,  // over everything but time
  kNonAdditive,
  kEntityLevel,  // belongs to an entity, which is counted once
};
std::string_view additivity_name(Additivity additivity);

/// auto: a rule decided; suggested: for a person to decide.
enum class Status : std::uint8_t { kAuto, kSuggested };
std::string_view status_name(Status status);

struct Property {
  std::string id;      // UUIDv5 of the type's and the canonical name
  std::string name;    // snake_case, at most 63 bytes, unique in its type
  std::string column;  // of the source
  /// Of a type that plays several roles in a row (origin, destination): the same property's column
  /// in each other role, in the order of ObjectType::key's; empty where the role has none.
  std::vector<std::string> more_columns;
  Role role = Role::kCategory;
  ColumnType type;
  std::optional<Additivity> additivity;  // of a measure
  std::string entity;                    // whose it is, if kEntityLevel: the type's name
  bool rate_per_period = false;
  std::string unit;                // a constant currency or unit column's value
  std::vector<std::string> rules;  // `S3`, ... : why it is here
};

enum class Kind : std::uint8_t { kFact, kDimension };

struct ObjectType {
  std::string id;    // UUIDv5 of the kb's UUID and the canonical stem
  std::string name;  // singular PascalCase
  Kind kind = Kind::kDimension;
  std::string view;                  // `pay_fact`, below the schema ontology
  std::optional<Property> key;       // none: a fact whose rows have no name of their own
  std::vector<Property> properties;  // by name; a fact's have its dimensions' key columns too
  std::vector<std::string> rules;
};

struct Link {
  std::string name;
  std::string from;  // a type's name
  std::string to;
  std::string column;  // of the source, holding the key of `to`
  Status status = Status::kAuto;
  std::optional<double> log10_luck;  // of a dependency between entities; not in the JSON
  std::vector<std::string> rules;
};

/// What one stream says there is. Types by name, facts first; links by from, to, column. Without
/// counts, so that it is the same whatever the order of batches.
struct Model {
  std::vector<ObjectType> types;
  std::vector<Link> links;
};

/// Canonical: members and lists in a fixed order, no blanks; equal models have equal bytes, and
/// their SHA-256 tells whether a version is new. Without what moves with every row (log10_luck).
std::string to_json(const Model& model);

}  // namespace strata::ontology
