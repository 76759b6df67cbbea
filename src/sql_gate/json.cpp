#include "sql_gate/json.h"

namespace strata::sql_gate {

namespace json = boost::json;

std::string_view text_of(const json::object& node, std::string_view member) {
  const json::value* value = node.if_contains(member);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

const json::object* object_of(const json::object& node, std::string_view member) {
  const json::value* value = node.if_contains(member);
  return value == nullptr ? nullptr : value->if_object();
}

std::optional<std::size_t> place_of(const json::object& node) {
  const json::value* place = node.if_contains("query_location");
  // Nowhere is DuckDB's largest number, which is the one that fits no signed one.
  if (place == nullptr || !place->is_int64() || place->get_int64() < 0) return std::nullopt;
  return static_cast<std::size_t>(place->get_int64());
}

}  // namespace strata::sql_gate
