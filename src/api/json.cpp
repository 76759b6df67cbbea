#include "api/json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cells.h"

namespace strata::api {

namespace json = boost::json;

http::Response json_response(int status, const json::value& body) {
  http::Response response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "application/json");
  response.body = json::serialize(body);
  response.body += '\n';
  return response;
}

std::string media_type_of(std::string_view header) {
  std::string_view type = header.substr(0, header.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  while (!type.empty() && (type.front() == ' ' || type.front() == '\t')) type.remove_prefix(1);
  return ascii_lower(type);
}

Result<json::object> read_json_body(const http::Request& request,
                                    std::initializer_list<std::string_view> known) {
  const auto type = request.header("Content-Type");
  if (!type && request.body.empty()) {
    return make_error(Code::kBadRequest,
                      fmt::format("This request needs a body, a JSON object with: {}. Send it with "
                                  "-H 'Content-Type: application/json'.",
                                  fmt::join(known, ", ")));
  }
  if (!type || media_type_of(*type) != "application/json") {
    return make_error(Code::kUnsupportedMediaType,
                      "Send this request's body as JSON: -H 'Content-Type: application/json'.");
  }
  boost::system::error_code error;
  const json::value value = json::parse(request.body, error);
  if (error || !value.is_object()) {
    return make_error(
        Code::kBadRequest,
        fmt::format("The body is no JSON object; send one with: {}.", fmt::join(known, ", ")),
        error.message());
  }
  for (const auto& member : value.as_object()) {
    const std::string_view name(member.key());
    if (std::ranges::find(known, name) == known.end()) {
      return make_error(Code::kBadRequest,
                        fmt::format("The body has a member '{}' that means nothing here; known "
                                    "are: {}.",
                                    name, fmt::join(known, ", ")));
    }
  }
  return value.as_object();
}

}  // namespace strata::api
