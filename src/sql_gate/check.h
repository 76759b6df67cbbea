#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

/// Whether a reader's statement is one to run, decided on its parse tree. Knows no engine: the tree
/// comes as the JSON text that DuckDB's json_serialize_sql writes, from wherever that may run.
namespace strata::sql_gate {

/// What a statement may name.
struct Readable {
  std::string_view catalog;     // the name the knowledgebase's views stand under
  std::set<std::string> views;  // `schema.name`, in lower case
  std::string_view manifest;    // the one table besides, without a schema or in `main`
  /// Whether the engine has a scalar function of this name: tells a slip from what is refused.
  std::function<bool(std::string_view name)> knows_function;
};

enum class Form : std::uint8_t {
  kRows,        // to be run as it is written back
  kShowTables,  // answered from the list of views
};

struct Accepted {
  Form form = Form::kRows;
  std::string schema;               // with kShowTables: of these only; empty: all
  std::vector<std::string> tables;  // views it names, `schema.name` in lower case, each once
  bool names_manifest = false;
  bool raises = false;     // it calls error(), so that it may fail with any words
  bool respelled = false;  // a lambda or an interval: DuckDB writes it back with other words
};

/// The tree out of the serialiser's text. kSqlRefused: it is no SELECT, or not exactly one.
Result<boost::json::value> read_tree(std::string_view serialised, std::string_view sql);

/// Walks all of it. `sql` is what the tree was made of, for the place in a message.
/// kSqlRefused: a node, a table or a function that is never run here, by name, and what to do
/// instead. kUnknownTable: `detail` is the table as `schema.name` in lower case. kSqlError: a
/// function that does not exist, a parameter without a value.
Result<Accepted> check(const boost::json::value& tree, std::string_view sql,
                       const Readable& readable);

/// Whether a table that DuckDB says it would read, as it writes it (`raw_extracted.t AS x(y)`), is
/// one of `readable`: the second opinion.
bool is_readable(std::string_view written, const Readable& readable);

/// The first word of `sql`, in capitals, behind blanks and comments; where it begins.
struct FirstWord {
  std::string word;
  std::size_t begin = 0;
};
FirstWord first_word(std::string_view sql);

}  // namespace strata::sql_gate
