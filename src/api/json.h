#pragma once

#include <boost/json.hpp>
#include <initializer_list>
#include <string_view>

#include "base/error.h"
#include "http/message.h"

namespace strata::api {

http::Response json_response(int status, const boost::json::value& body);

/// The body of a control request: one JSON object whose members are all among `known`, sent as
/// application/json. Errors: kUnsupportedMediaType, kBadRequest (a member nobody reads is a slip).
Result<boost::json::object> read_json_body(const http::Request& request,
                                           std::initializer_list<std::string_view> known);

/// `type/subtype` of a header such as Content-Type, lower case, without parameters.
std::string media_type_of(std::string_view header);

}  // namespace strata::api
