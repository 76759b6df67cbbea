#include "sql_gate/rewrite.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "sql_gate/json.h"

namespace strata::sql_gate {
namespace {

namespace json = boost::json;

bool is_double_constant(const json::object& node) {
  const json::object* value = object_of(node, "value");
  if (text_of(node, "class") != "CONSTANT" || value == nullptr) return false;
  const json::object* type = object_of(*value, "type");
  const json::value* number = value->if_contains("value");
  return type != nullptr && text_of(*type, "id") == "DOUBLE" && number != nullptr &&
         number->is_number();
}

/// The number that is spelled at the start of `text`, if it is the one the parser read there.
std::optional<std::string> spelling(std::string_view text, double read) {
  constexpr std::string_view kSigns = "0123456789.+-eE_";
  std::string spelled(text.substr(0, std::min(text.find_first_not_of(kSigns), text.size())));
  std::erase(spelled, '_');
  double number = 0;
  const char* begin = spelled.data() + (spelled.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, spelled.data() + spelled.size(), number);
  if (error != std::errc()) return std::nullopt;
  // The tree's own number went through a decimal text and back, and may differ in its last bit.
  if (std::abs(number - read) > std::abs(read) * 1e-15) return std::nullopt;
  return std::string(begin, end);
}

json::object cast_of(const json::object& constant, const std::string& spelled) {
  json::object text = constant;
  text["alias"] = "";
  text["value"] = json::object{{"type", {{"id", "VARCHAR"}, {"type_info", nullptr}}},
                               {"is_null", false},
                               {"value", spelled}};
  return {{"class", "CAST"},
          {"type", "OPERATOR_CAST"},
          {"alias", constant.at("alias")},
          {"query_location", constant.at("query_location")},
          {"child", std::move(text)},
          {"cast_type", {{"id", "DOUBLE"}, {"type_info", nullptr}}},
          {"try_cast", false}};
}

/// The list in a `SELECT * FROM (VALUES ...)` that nobody wrote so.
const json::value* values_within(const json::object& table) {
  if (text_of(table, "type") != "SUBQUERY") return nullptr;
  const json::object* query = object_of(table, "subquery");
  const json::object* node = query == nullptr ? nullptr : object_of(*query, "node");
  const json::value* from = node == nullptr ? nullptr : node->if_contains("from_table");
  if (from == nullptr || !from->is_object()) return nullptr;
  return text_of(from->get_object(), "type") == "EXPRESSION_LIST" ? from : nullptr;
}

bool is_cross_join(const json::object& table) {
  return text_of(table, "type") == "JOIN" && text_of(table, "ref_type") == "CROSS";
}

/// What a product is of, from left to right, however it is bracketed.
void append_factors(const json::object& table, std::vector<const json::value*>& factors) {
  for (const char* side : {"left", "right"}) {
    const json::value* factor = table.if_contains(side);
    if (factor != nullptr && factor->is_object() && is_cross_join(factor->get_object())) {
      append_factors(factor->get_object(), factors);
    } else if (factor != nullptr) {
      factors.push_back(factor);
    }
  }
}

bool same_products(const json::object& original, const json::object& written, Places& places) {
  std::vector<const json::value*> here;
  std::vector<const json::value*> there;
  append_factors(original, here);
  append_factors(written, there);
  return std::ranges::equal(here, there,
                            [&places](const json::value* one, const json::value* other) {
                              return is_same(*one, *other, places);
                            });
}

bool same_objects(const json::object& original, const json::object& written, Places& places) {
  const bool unwrapped = text_of(original, "type") == "EXPRESSION_LIST";
  if (unwrapped) {
    if (const json::value* values = values_within(written)) {
      return is_same(json::value(original), *values, places);
    }
  }
  if (original.size() != written.size()) return false;
  if (is_cross_join(original) && is_cross_join(written)) {
    return same_products(original, written, places);
  }
  if (const auto there = place_of(written)) {
    if (const auto here = place_of(original)) places.emplace(*there, *here);
  }
  return std::ranges::all_of(original, [&](const auto& member) {
    if (member.key() == "query_location") return true;
    // The list has no name of its own once it is a query's.
    if (unwrapped && member.key() == "alias") return true;
    const json::value* other = written.if_contains(member.key());
    return other != nullptr && is_same(member.value(), *other, places);
  });
}

}  // namespace

Result<bool> spell_doubles(json::value& tree, std::string_view sql) {
  bool found = false;
  std::vector<json::value*> open = {&tree};
  while (!open.empty()) {
    json::value* value = open.back();
    open.pop_back();
    if (json::array* array = value->if_array()) {
      for (json::value& element : *array) open.push_back(&element);
      continue;
    }
    json::object* object = value->if_object();
    if (object == nullptr) continue;
    if (!is_double_constant(*object)) {
      for (auto& member : *object) open.push_back(&member.value());
      continue;
    }
    const auto place = place_of(*object);
    const double number = object->at("value").at("value").to_number<double>();
    const auto spelled =
        place && *place < sql.size() ? spelling(sql.substr(*place), number) : std::nullopt;
    if (!spelled) {
      return make_error(Code::kSqlRefused,
                        "a number of this statement cannot be checked: write it as "
                        "CAST('1e3' AS DOUBLE)" +
                            line_at(sql, place.value_or(sql.size())));
    }
    json::object cast = cast_of(*object, *spelled);
    *value = std::move(cast);
    found = true;
  }
  return found;
}

bool is_same(const json::value& original, const json::value& written, Places& places) {
  if (original.is_object()) {
    return written.is_object() && same_objects(original.get_object(), written.get_object(), places);
  }
  if (!original.is_array()) return original == written;
  if (!written.is_array()) return false;
  const json::array& here = original.get_array();
  const json::array& there = written.get_array();
  return std::ranges::equal(here, there, [&places](const auto& one, const auto& other) {
    return is_same(one, other, places);
  });
}

}  // namespace strata::sql_gate
