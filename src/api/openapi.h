#pragma once

#include <boost/json/object.hpp>
#include <string_view>

namespace strata::api {

/// OpenAPI 3.1 of operations(): every route there is, with what it takes and answers.
boost::json::object openapi_document(std::string_view version);

}  // namespace strata::api
