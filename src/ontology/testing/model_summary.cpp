#include <fmt/format.h>

#include "base/check.h"
#include "ontology/synthesise.h"
#include "ontology/testing/sample_streams.h"

namespace strata::ontology {
namespace {

std::string summary(const Property& property) {
  std::string text = property.name;
  for (const std::string& column : property.more_columns) text += "+" + column;
  if (!property.additivity) return text;
  text += fmt::format("[{}", additivity_name(*property.additivity));
  if (!property.entity.empty()) text += " " + property.entity;
  if (property.rate_per_period) text += " per_period";
  if (!property.unit.empty()) text += " " + property.unit;
  return text + "]";
}

bool leads_to_key(const Model& model, const Link& link) {
  for (const ObjectType& type : model.types) {
    if (type.name == link.to) return type.key && type.key->column == link.column;
  }
  STRATA_CHECK(false);
}

}  // namespace

std::string summary(const Model& model) {
  std::string text;
  for (const ObjectType& type : model.types) {
    text += type.name + (type.kind == Kind::kFact ? ":" : " =");
    if (type.key) text += fmt::format(" ({})", summary(*type.key));
    for (const Property& property : type.properties) text += " " + summary(property);
    text += "\n";
  }
  for (const Link& link : model.links) {
    if (link.status == Status::kSuggested) {
      text += fmt::format("{} ~> {}", link.from, link.to);
    } else if (!leads_to_key(model, link)) {
      text += fmt::format("{} -> {}", link.from, link.to);
    } else {
      continue;
    }
    text += leads_to_key(model, link) ? "\n" : fmt::format(" as {}\n", link.name);
  }
  return text;
}

Model model_of(const SampleStream& stream) {
  ProfiledRows rows(stream.columns, stream.rows);
  auto model =
      synthesise(rows.profile(), rows,
                 {.kb_uuid = "6ba7b810-9dad-11d1-80b4-00c04fd430c8", .stream_name = stream.name});
  STRATA_CHECK(model.has_value());
  return *std::move(model);
}

}  // namespace strata::ontology
