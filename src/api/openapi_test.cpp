#include "api/openapi.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>
#include <string>

#include "api/openapi_shapes.h"
#include "api/operations.h"
#include "base/cells.h"

namespace strata::api {
namespace {

namespace json = boost::json;

TEST(OpenApi, NamesEveryOperationAndNothingMore) {
  std::set<std::string> routed;
  for (const Operation& operation : operations()) {
    routed.insert(ascii_lower(operation.method) + " " + std::string(operation.pattern));
  }
  std::set<std::string> documented;
  const json::object document = openapi_document("1.2.3");
  for (const auto& [path, methods] : document.at("paths").as_object()) {
    for (const auto& [method, operation] : methods.as_object()) {
      documented.insert(std::string(method) + " " + std::string(path));
    }
  }
  EXPECT_EQ(documented, routed);
}

TEST(OpenApi, SaysOfEveryOperationWhatItTakesAndAnswers) {
  for (const Operation& operation : operations()) {
    EXPECT_TRUE(operation_shapes().contains(operation.id))
        << operation.id << " has no entry in openapi_shapes.cpp";
  }
}

TEST(OpenApi, AShapeIsWrittenOutAsJsonSchema) {
  const json::value shape =
      json::parse(R"({"id": "string", "rows?": "[integer]|null", "view": "View", "note?": "any"})");
  EXPECT_EQ(to_json_schema(shape), json::parse(R"({
    "type": "object",
    "properties": {
      "id": {"type": "string"},
      "rows": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
      "view": {"$ref": "#/components/schemas/View"},
      "note": {}
    },
    "required": ["id", "view"]
  })"));
}

}  // namespace
}  // namespace strata::api
