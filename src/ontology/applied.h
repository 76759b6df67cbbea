#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "duck/sql.h"
#include "ontology/model.h"

/// What a version of a kb's model is made of, stream by stream, and the views over it.
namespace strata::ontology {

struct AppliedTable {
  std::string view;
  Kind kind = Kind::kFact;
  std::string key;                   // of a dimension
  std::vector<std::string> columns;  // without those that Strata adds
  std::string file;                  // below the kb's folder
  std::uint64_t rows = 0;
};

/// One stream as the ontology was last applied to it.
struct AppliedStream {
  std::string stream;
  std::uint64_t snapshot = 0;  // its number
  std::uint64_t rows = 0;
  std::string taken_at;
  std::string fingerprint;  // of all that the outcome depends on
  std::string model_json;   // canonical
  std::vector<AppliedTable> tables;
};

/// By stream.
using Applied = std::vector<AppliedStream>;

std::string to_json(const Applied& applied);
/// kIo: it is not what to_json wrote.
Result<Applied> parse_applied(std::string_view json);

/// SHA-256 of the streams' models: what makes a version another one.
std::string model_digest(const Applied& applied);

/// The views of schema `ontology`: one over all streams that have a dimension of that name and key,
/// each key once; one for each fact. Where a name is taken already it gets a number. By name.
struct OntologyView {
  std::string name;
  duck::Sql ddl;
};
std::vector<OntologyView> views_of(const Applied& applied, std::string_view kb_folder);

}  // namespace strata::ontology
