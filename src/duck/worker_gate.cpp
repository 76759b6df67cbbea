#include "duck/worker_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "base/cells.h"
#include "duck/worker_connection.h"
#include "duck/worker_pool.h"

namespace strata::duck {
namespace {

namespace json = boost::json;

/// Table functions that only read: generators, readers of files (which allowed_directories bounds)
/// and what the catalog says of itself, but for what tells where files lie (duckdb_databases,
/// duckdb_extensions, duckdb_settings, duckdb_views). Sorted.
constexpr std::array kTableFunctions = std::to_array<std::string_view>({
    "duckdb_columns",
    "duckdb_constraints",
    "duckdb_dependencies",
    "duckdb_functions",
    "duckdb_indexes",
    "duckdb_keywords",
    "duckdb_memory",
    "duckdb_schemas",
    "duckdb_sequences",
    "duckdb_tables",
    "duckdb_types",
    "generate_series",
    "generate_subscripts",
    "glob",
    "histogram",
    "histogram_values",
    "icu_calendar_names",
    "json_each",
    "json_tree",
    "parquet_bloom_probe",
    "parquet_file_metadata",
    "parquet_full_metadata",
    "parquet_kv_metadata",
    "parquet_metadata",
    "parquet_scan",
    "parquet_schema",
    "pg_timezone_names",
    "pragma_platform",
    "pragma_show",
    "pragma_table_info",
    "pragma_version",
    "range",
    "read_blob",
    "read_csv",
    "read_csv_auto",
    "read_json",
    "read_json_auto",
    "read_json_objects",
    "read_json_objects_auto",
    "read_ndjson",
    "read_ndjson_auto",
    "read_ndjson_objects",
    "read_parquet",
    "read_text",
    "repeat",
    "repeat_row",
    "sniff_csv",
    "summary",
    "test_all_types",
    "unnest",
});
static_assert(std::ranges::is_sorted(kTableFunctions));

/// A level of the tree takes a few of its JSON; DuckDB itself stops at 1,000 levels of expression.
constexpr std::size_t kTreeDepthMax = 16'384;

Error refused(std::string message) { return make_error(Code::kSqlRefused, std::move(message)); }

/// The first word, in capitals, behind blanks and comments.
std::string first_word(std::string_view sql) {
  for (;;) {
    const std::size_t begin = sql.find_first_not_of(" \t\r\n\f\v;(");
    if (begin == std::string_view::npos) return {};
    sql.remove_prefix(begin);
    const bool line_comment = sql.starts_with("--");
    if (!line_comment && !sql.starts_with("/*")) break;
    const std::size_t end = line_comment ? sql.find('\n') : sql.find("*/");
    if (end == std::string_view::npos) return {};
    sql.remove_prefix(line_comment ? end : end + 2);
  }
  std::string word;
  for (const char character : ascii_lower(sql.substr(0, 32))) {
    if (character < 'a' || character > 'z') break;
    word += static_cast<char>(character - 'a' + 'A');
  }
  return word;
}

Error refuse_many(std::uint64_t count, std::string_view sql) {
  std::string message = fmt::format("{} statements: send one SELECT at a time", count);
  if (ascii_lower(sql).find("pivot") != std::string::npos) {
    message += " (a PIVOT is several unless its values are listed: ON column IN (a, b))";
  }
  return refused(std::move(message));
}

/// What the walk finds. Names in lower case, as DuckDB compares them.
struct TreeNames {
  std::set<std::string> tables;         // `schema.name`
  std::set<std::string> bare_tables;    // named without a schema
  std::set<std::string> common_tables;  // WITH names
  std::set<std::string> functions;
};

std::string_view text_of(const json::object& node, std::string_view key) {
  const json::value* value = node.if_contains(key);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

void collect(const json::object& node, TreeNames& names) {
  const std::string_view type = text_of(node, "type");
  if (type == "BASE_TABLE") {
    const std::string name = ascii_lower(text_of(node, "table_name"));
    const std::string schema = ascii_lower(text_of(node, "schema_name"));
    if (schema.empty()) {
      names.bare_tables.insert(name);
    } else {
      names.tables.insert(schema + '.' + name);
    }
  } else if (type == "TABLE_FUNCTION") {
    const json::value* function = node.if_contains("function");
    const json::object* call = function == nullptr ? nullptr : function->if_object();
    // A table function in a form unknown here has no name, which is on no list.
    names.functions.insert(call == nullptr ? std::string()
                                           : ascii_lower(text_of(*call, "function_name")));
  } else if (const json::value* map = node.if_contains("cte_map"); map != nullptr) {
    const json::value* entries = map->is_object() ? map->get_object().if_contains("map") : nullptr;
    if (entries == nullptr || !entries->is_array()) return;
    for (const json::value& entry : entries->get_array()) {
      if (entry.is_object()) {
        names.common_tables.insert(ascii_lower(text_of(entry.get_object(), "key")));
      }
    }
  }
}

/// Every object of the tree, whatever it is part of: a construct of a later DuckDB hides nothing.
void walk(const json::value& root, TreeNames& names) {
  std::vector<const json::value*> open = {&root};
  while (!open.empty()) {
    const json::value* value = open.back();
    open.pop_back();
    if (const json::object* object = value->if_object(); object != nullptr) {
      collect(*object, names);
      for (const auto& member : *object) open.push_back(&member.value());
    } else if (const json::array* array = value->if_array(); array != nullptr) {
      for (const json::value& element : *array) open.push_back(&element);
    }
  }
}

/// The parse tree as DuckDB writes it, or why there is none.
Result<std::string> serialise(duckdb_connection connection, const StatementContext& context) {
  Statement statement;
  if (duckdb_prepare(connection, "SELECT json_serialize_sql($1::VARCHAR)", statement.out()) ==
          DuckDBError ||
      duckdb_bind_varchar_length(statement.get(), 1, context.sql.data(), context.sql.size()) ==
          DuckDBError) {
    return make_error(Code::kInternal, "the statement could not be looked at",
                      duckdb_prepare_error(statement.get()));
  }
  QueryResult result;
  if (duckdb_execute_prepared(statement.get(), result.get()) == DuckDBError) {
    return describe_failure(result.error(), context).error;
  }
  STRATA_ASSIGN_OR_RETURN(auto rows, text_rows(result, 1));
  if (rows.size() != 1) return make_error(Code::kInternal, "the statement could not be looked at");
  return std::move(rows[0][0]);
}

Result<json::value> parse_tree(const std::string& text, std::string_view sql) {
  json::parse_options options;
  options.max_depth = kTreeDepthMax;
  json::error_code failure;
  json::value tree = json::parse(text, failure, {}, options);
  if (failure) {
    return make_error(Code::kSqlRefused,
                      "the statement holds a number or a nesting beyond what can be checked", text);
  }
  const json::object* root = tree.if_object();
  const json::value* error = root == nullptr ? nullptr : root->if_contains("error");
  if (error == nullptr || !error->is_bool() || error->get_bool()) {
    const std::string word = first_word(sql);
    return refused(
        fmt::format("{} is not run here: only one statement that reads is (SELECT, FROM, "
                    "WITH, VALUES, DESCRIBE, SUMMARIZE, SHOW)",
                    word.empty() ? "this" : word));
  }
  return tree;
}

bool reads_files(const std::string& function) {
  return function.starts_with("read_") || function.starts_with("parquet_") ||
         function == "sniff_csv" || function == "glob";
}

bool names_files(const TreeNames& names) {
  // FROM 'a.csv' is a table of that name; no view's name has a dot.
  return std::ranges::any_of(names.functions, reads_files) ||
         std::ranges::any_of(names.bare_tables, [](const std::string& table) {
           return table.find('.') != std::string::npos;
         });
}

bool names_manifest(const TreeNames& names) {
  const std::string table(kManifestTable);
  return names.bare_tables.contains(table) || names.tables.contains("main." + table);
}

Result<std::vector<std::string>> check_names(const TreeNames& names) {
  for (const std::string& function : names.functions) {
    if (!std::ranges::binary_search(kTableFunctions, std::string_view(function))) {
      return refused(
          fmt::format("the table function {} is not run here: only functions that read are",
                      function.empty() ? "in this statement" : function));
    }
  }
  std::set<std::string> tables = names.tables;
  for (const std::string& table : names.bare_tables) {
    if (!names.common_tables.contains(table)) tables.insert("main." + table);
  }
  return std::vector<std::string>(tables.begin(), tables.end());
}

}  // namespace

Result<CheckedStatement> check_statement(duckdb_connection connection,
                                         const StatementContext& context) {
  CheckedStatement checked;
  const std::string sql(context.sql);
  const idx_t count = duckdb_extract_statements(connection, sql.c_str(), checked.statements.out());
  if (count == 0) {
    const char* why =
        checked.statements ? duckdb_extract_statements_error(checked.statements.get()) : nullptr;
    if (why != nullptr) return describe_failure(why, context).error;
    return make_error(Code::kSqlError, "there is no statement: send one SELECT");
  }
  if (count != 1) return refuse_many(count, context.sql);
  STRATA_ASSIGN_OR_RETURN(const std::string text, serialise(connection, context));
  STRATA_ASSIGN_OR_RETURN(const json::value tree, parse_tree(text, context.sql));
  // The serialiser and the parser have to agree on what there is, or the tree is not what runs.
  const json::value* statements = tree.get_object().if_contains("statements");
  if (statements == nullptr || !statements->is_array() || statements->get_array().size() != 1) {
    return refused("the statement could not be checked: send one SELECT");
  }
  TreeNames names;
  walk(tree, names);
  STRATA_ASSIGN_OR_RETURN(checked.tables, check_names(names));
  checked.names_manifest = names_manifest(names);
  checked.names_files = names_files(names);
  return checked;
}

}  // namespace strata::duck
