#include "ontology/model.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/check.h"

namespace strata::ontology {
namespace {

std::string type_text(const ColumnType& type) {
  if (type.type != Type::kDecimal) return std::string(type_name(type.type));
  return fmt::format("{}({},{})", type_name(type.type), type.precision, type.scale);
}

boost::json::array to_array(const std::vector<std::string>& texts) {
  return boost::json::array(texts.begin(), texts.end());
}

boost::json::object to_object(const Property& property) {
  boost::json::object object = {
      {"id", property.id}, {"name", property.name}, {"column", property.column}};
  if (!property.more_columns.empty()) object["more_columns"] = to_array(property.more_columns);
  object["role"] = role_name(property.role);
  object["type"] = type_text(property.type);
  if (property.additivity) {
    object["additivity"] = additivity_name(*property.additivity);
    if (!property.entity.empty()) object["entity"] = property.entity;
    if (property.rate_per_period) object["rate_per_period"] = true;
    if (!property.unit.empty()) object["unit"] = property.unit;
  }
  object["rules"] = to_array(property.rules);
  return object;
}

boost::json::object to_object(const ObjectType& type) {
  boost::json::object object = {{"id", type.id},
                                {"name", type.name},
                                {"kind", type.kind == Kind::kFact ? "fact" : "dimension"},
                                {"view", type.view}};
  if (type.key) object["key"] = to_object(*type.key);
  boost::json::array properties;
  for (const Property& property : type.properties) properties.push_back(to_object(property));
  object["properties"] = std::move(properties);
  object["rules"] = to_array(type.rules);
  return object;
}

boost::json::object to_object(const Link& link) {
  return {{"name", link.name},
          {"from", link.from},
          {"to", link.to},
          {"column", link.column},
          {"status", status_name(link.status)},
          {"rules", to_array(link.rules)}};
}

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::kEmpty:
      return "empty";
    case Role::kConstant:
      return "constant";
    case Role::kTime:
      return "time";
    case Role::kIdentifier:
      return "identifier";
    case Role::kOrdinal:
      return "ordinal";
    case Role::kFlag:
      return "flag";
    case Role::kLabel:
      return "label";
    case Role::kText:
      return "text";
    case Role::kMeasure:
      return "measure";
    case Role::kCategory:
      return "category";
  }
  STRATA_CHECK(false);
}

std::string_view additivity_name(Additivity additivity) {
  switch (additivity) {
    case Additivity::kAdditive:
      return "additive";
    case Additivity::kSemiAdditive:
      return "semi_additive";
    case Additivity::kNonAdditive:
      return "non_additive";
    case Additivity::kEntityLevel:
      return "entity_level";
  }
  STRATA_CHECK(false);
}

std::string_view status_name(Status status) {
  return status == Status::kAuto ? "auto" : "suggested";
}

std::string to_json(const Model& model) {
  boost::json::array types;
  for (const ObjectType& type : model.types) types.push_back(to_object(type));
  boost::json::array links;
  for (const Link& link : model.links) links.push_back(to_object(link));
  return boost::json::serialize(
      boost::json::object{{"types", std::move(types)}, {"links", std::move(links)}});
}

}  // namespace strata::ontology
