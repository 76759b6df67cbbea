#include "kb/json_object.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace strata::kb {

std::optional<boost::json::object> parse_object(std::string_view bytes) {
  boost::system::error_code error;
  boost::json::value value = boost::json::parse({bytes.data(), bytes.size()}, error);
  if (error || !value.is_object()) return std::nullopt;
  return std::move(value.as_object());
}

std::optional<std::string> text_at(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains({key.data(), key.size()});
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->get_string().data(), value->get_string().size());
}

std::optional<std::uint64_t> number_at(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains({key.data(), key.size()});
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(value->get_int64());
}

std::string render(const boost::json::object& object) {
  return boost::json::serialize(object) + '\n';
}

}  // namespace strata::kb
