#pragma once

#include <boost/json/object.hpp>

/// What goes in and comes out of every operation, for openapi.json: the only place that says it.
///
/// A *shape* is written short: `"string"`, `"integer"`, `"number"`, `"boolean"`, `"any"`; `"Name"`,
/// one of schemas(); `"[X]"`, an array of X; `"X|null"`; or an object of members, where a name that
/// ends in `?` may be missing. An object with `$schema` is JSON Schema as it stands.
namespace strata::api {

/// Named shapes.
const boost::json::object& schemas();

/// By operationId: `{"query": {name: shape}, "headers": {name: shape}, "body": shape,
/// "answers": {status: shape}}`, all but `answers` optional. A body or an answer that is not JSON
/// is `{"$media": {type: shape}}`.
const boost::json::object& operation_shapes();

/// `shape` as JSON Schema.
boost::json::value to_json_schema(const boost::json::value& shape);

}  // namespace strata::api
