#include "sql_gate/series.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>
#include <vector>

#include "base/cells.h"
#include "sql_gate/json.h"

namespace strata::sql_gate {
namespace {

namespace json = boost::json;

/// Constants may be spelled in a few steps; more are not followed.
constexpr int kStepsMax = 32;

struct Bound {
  bool constant = false;
  std::optional<double> number;  // exact as far as kSeriesRowsMax goes
  bool numeric = false;          // a number, known or not
};

Bound bound_of(const json::object& expression, int steps);

bool is_numeric_type(std::string_view type) {
  return type.ends_with("INT") || type == "INTEGER" || type == "DECIMAL" || type == "DOUBLE" ||
         type == "FLOAT";
}

Bound bound_of_constant(const json::object& expression) {
  Bound bound{.constant = true};
  const json::object* value = object_of(expression, "value");
  const json::object* type = value == nullptr ? nullptr : object_of(*value, "type");
  if (type == nullptr) return bound;
  const std::string_view id = text_of(*type, "id");
  bound.numeric = is_numeric_type(id);
  const json::value* number = value->if_contains("value");
  if (number == nullptr || id == "DECIMAL") return bound;
  if (number->is_int64()) bound.number = static_cast<double>(number->get_int64());
  if (number->is_uint64()) bound.number = static_cast<double>(number->get_uint64());
  return bound;
}

Bound bound_of_cast(const json::object& expression, int steps) {
  const json::object* child = object_of(expression, "child");
  const json::object* type = object_of(expression, "cast_type");
  if (child == nullptr || type == nullptr) return {};
  Bound bound = bound_of(*child, steps);
  bound.numeric = is_numeric_type(text_of(*type, "id"));
  return bound;
}

/// A call of constants is one: `-1`, `2 * 3`, INTERVAL 6 HOUR (to_hours), make_date(2026, 1, 1).
Bound bound_of_call(const json::object& expression, int steps) {
  const json::value* children = expression.if_contains("children");
  if (children == nullptr || !children->is_array()) return {};
  std::vector<Bound> of;
  for (const json::value& child : children->get_array()) {
    if (!child.is_object()) return {};
    of.push_back(bound_of(child.get_object(), steps));
    if (!of.back().constant) return {};
  }
  const std::string name = ascii_lower(text_of(expression, "function_name"));
  if (of.size() == 1 && name == "-") {
    if (of[0].number) of[0].number = -*of[0].number;
    return of[0];
  }
  if (of.size() != 2 || !of[0].number || !of[1].number) {
    const bool makes_time = name.starts_with("to_") || name.starts_with("make_") ||
                            name == "trunc" || name == "now" || name == "today" || name == "+" ||
                            name == "-";
    return {.constant = makes_time};
  }
  Bound result{.constant = true, .number = std::nullopt, .numeric = true};
  if (name == "+") result.number = *of[0].number + *of[1].number;
  if (name == "-") result.number = *of[0].number - *of[1].number;
  if (name == "*") result.number = *of[0].number * *of[1].number;
  return result;
}

/// The names that stand for the present without a call's brackets.
bool is_present(const json::object& expression) {
  const json::value* names = expression.if_contains("column_names");
  if (names == nullptr || !names->is_array() || names->get_array().size() != 1) return false;
  const json::value& name = names->get_array()[0];
  if (!name.is_string()) return false;
  const std::string lower = ascii_lower(std::string_view(name.get_string()));
  return lower == "current_date" || lower == "current_timestamp" || lower == "localtimestamp";
}

Bound bound_of(const json::object& expression, int steps) {
  if (steps == 0) return {};
  const std::string_view kind = text_of(expression, "class");
  if (kind == "CONSTANT") return bound_of_constant(expression);
  if (kind == "CAST") return bound_of_cast(expression, steps - 1);
  if (kind == "FUNCTION") return bound_of_call(expression, steps - 1);
  return {.constant = kind == "COLUMN_REF" && is_present(expression)};
}

}  // namespace

std::optional<std::string> series_refusal(const json::object& call) {
  const std::string name = ascii_lower(text_of(call, "function_name"));
  const json::value* children = call.if_contains("children");
  std::vector<Bound> bounds;
  if (children != nullptr && children->is_array()) {
    for (const json::value& child : children->get_array()) {
      bounds.push_back(child.is_object() ? bound_of(child.get_object(), kStepsMax) : Bound{});
      if (bounds.back().constant) continue;
      return fmt::format(
          "{} in FROM takes constants only: for bounds out of a table write "
          "unnest({}(...)) in the SELECT list",
          name, name);
    }
  }
  if (bounds.empty() || bounds.size() > 3) return std::nullopt;  // the engine knows what to say
  for (const Bound& bound : bounds) {
    if (bound.numeric && !bound.number) {
      return fmt::format("{} in FROM takes whole numbers", name);
    }
    if (!bound.number) return std::nullopt;
  }
  const double begin = bounds.size() == 1 ? 0.0 : *bounds[0].number;
  const double end = bounds.size() == 1 ? *bounds[0].number : *bounds[1].number;
  const double step = bounds.size() == 3 ? *bounds[2].number : 1.0;
  if (step == 0.0 || std::abs((end - begin) / step) <= static_cast<double>(kSeriesRowsMax)) {
    return std::nullopt;
  }
  return fmt::format("{} in FROM makes {} rows at most", name, kSeriesRowsMax);
}

}  // namespace strata::sql_gate
