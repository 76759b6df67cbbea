#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "duck/sql.h"
#include "ontology/model.h"
#include "ontology/typed_tables.h"

/// What a version of a kb's model is made of, stream by stream, and the views over it.
namespace strata::ontology {

struct AppliedTable {
  std::string type_view;  // as the stream's model calls it
  std::string view;       // as it is called below `ontology.`
  Kind kind = Kind::kFact;
  std::string key;                   // of a dimension
  std::vector<TypedColumn> columns;  // without those that Strata adds
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

/// Names the views of `stream`, whose tables have none yet. `applied` is all that stands already;
/// no view of another stream is renamed, and none of this one's while it can keep its name.
/// - A dimension is one with others of its name, its key and a type of keys that holds all of them.
/// - Else a name that is taken gets a number: two facts are never one.
void name_views(AppliedStream& stream, const Applied& applied);

/// The views of schema `ontology`, by name: one for each fact, one for each dimension, over all
/// streams that have it, each key once.
struct OntologyView {
  std::string name;
  duck::Sql select;
};
std::vector<OntologyView> views_of(const Applied& applied, std::string_view kb_folder);

}  // namespace strata::ontology
