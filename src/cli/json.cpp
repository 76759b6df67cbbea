#include "cli/json.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "cli/text.h"

namespace strata::cli {

namespace json = boost::json;

Result<json::object> parse_object(std::string_view body) {
  json::error_code failure;
  json::value value = json::parse(body, failure);
  if (failure || !value.is_object()) {
    return make_error(Code::kInternal, "the answer is not a JSON object: is this a Strata server?");
  }
  return std::move(value.get_object());
}

std::string text_member(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->get_string());
}

std::uint64_t count_member(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return 0;
  if (value->is_uint64()) return value->get_uint64();
  if (value->is_int64() && value->get_int64() > 0) {
    return static_cast<std::uint64_t>(value->get_int64());
  }
  return 0;
}

const json::value* find_path(const json::object& object, std::string_view path) {
  const std::size_t dot = path.find('.');
  const json::value* value = object.if_contains(path.substr(0, dot));
  if (dot == std::string_view::npos || value == nullptr) return value;
  return value->is_object() ? find_path(value->get_object(), path.substr(dot + 1)) : nullptr;
}

std::string display(const json::value& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return printable(value.get_string());
  if (value.is_double()) return fmt::format("{}", value.get_double());  // JSON has 5E-1
  if (!value.is_array()) return printable(json::serialize(value));
  std::string text;
  for (const json::value& element : value.get_array()) {
    if (!text.empty()) text += ", ";
    text += display(element);
  }
  return text.empty() ? "-" : text;
}

}  // namespace strata::cli
