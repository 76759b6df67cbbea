#include "http/message.h"

#include <algorithm>

#include "http/client.h"
#include "http/text.h"

namespace strata::http {
namespace {

std::optional<std::string_view> find_header(const Headers& headers, std::string_view name) {
  for (const auto& [field, value] : headers) {
    if (equals_ignoring_case(field, name)) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> Request::header(std::string_view name) const {
  return find_header(headers, name);
}

std::size_t Request::header_count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      headers, [&](const auto& field) { return equals_ignoring_case(field.first, name); }));
}

std::optional<std::string_view> ClientResponse::header(std::string_view name) const {
  return find_header(headers, name);
}

}  // namespace strata::http
