#include "duck/worker_gate.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/cells.h"
#include "duck/sql.h"
#include "duck/worker_connection.h"
#include "duck/worker_pool.h"
#include "sql_gate/check.h"
#include "sql_gate/rewrite.h"

namespace strata::duck {
namespace {

namespace json = boost::json;

constexpr std::string_view kExplain = "EXPLAIN";

Error refused(std::string message) { return make_error(Code::kSqlRefused, std::move(message)); }

Error refuse_many(std::uint64_t count, std::string_view sql) {
  std::string message = fmt::format("{} statements: send one SELECT at a time", count);
  if (ascii_lower(sql).find("pivot") != std::string::npos) {
    message += " (a PIVOT is several unless its values are listed: ON column IN (a, b))";
  }
  return refused(std::move(message));
}

/// Puts blanks where EXPLAIN stands, so that every place stays where it is. Whether it stood there.
Result<bool> blank_explain(std::string& sql) {
  const auto [word, begin] = sql_gate::first_word(sql);
  if (word != kExplain) return false;
  sql.replace(begin, kExplain.size(), kExplain.size(), ' ');
  const std::string next = sql_gate::first_word(sql).word;
  if (next == "ANALYZE" || next == "FORMAT") {
    return refused(
        fmt::format("EXPLAIN {} is not run here: EXPLAIN takes a SELECT and nothing else", next));
  }
  return true;
}

/// One statement of ours about `text`: the parse tree as DuckDB writes it, or a tree's text.
enum class Direction : std::uint8_t { kToTree, kToText };
Result<std::string> convert(duckdb_connection connection, Direction direction,
                            std::string_view text, const StatementContext& context) {
  const char* const sql = direction == Direction::kToTree ? "SELECT json_serialize_sql($1::VARCHAR)"
                                                          : "SELECT json_deserialize_sql($1::JSON)";
  Statement statement;
  if (duckdb_prepare(connection, sql, statement.out()) == DuckDBError ||
      duckdb_bind_varchar_length(statement.get(), 1, text.data(), text.size()) == DuckDBError) {
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

/// Binds the name without arguments, which is enough to be told whether there is one.
bool knows_function(duckdb_connection connection, std::string_view name) {
  if (name.empty() || name.find('\0') != std::string_view::npos) return false;
  Statement statement;
  const Sql call = Sql("SELECT ").ident(name).raw("()");
  if (duckdb_prepare(connection, call.str().c_str(), statement.out()) != DuckDBError) return true;
  const char* why = duckdb_prepare_error(statement.get());
  return why == nullptr || std::string_view(why).find("does not exist") == std::string_view::npos;
}

/// The engine's own list of the tables it would read, where it can make one of names alone (a JOIN
/// USING it cannot): whatever the check overlooked stands in it.
Result<void> ask_engine(duckdb_connection bare, const std::string& text,
                        const sql_gate::Readable& readable) {
  const Value names(duckdb_get_table_names(bare, text.c_str(), true));
  if (!names) return {};
  for (idx_t index = 0; index < duckdb_get_list_size(names.get()); ++index) {
    const Value name(duckdb_get_list_child(names.get(), index));
    const DuckString written(duckdb_get_varchar(name.get()));
    if (!sql_gate::is_readable(written.view(), readable)) {
      return refused(fmt::format(
          "the engine would read {} besides what this statement was checked for: write it "
          "another way",
          written.view()));
    }
  }
  return {};
}

/// `SHOW TABLES` as a statement: the names, so that each may be put behind FROM.
std::string list_of_views(const std::set<std::string>& views, const std::string& schema) {
  Sql list;
  for (const std::string& view : views) {
    if (!schema.empty() && !view.starts_with(schema + '.')) continue;
    list.append(list.str().empty() ? Sql("SELECT name FROM (VALUES (") : Sql("), ("));
    list.literal(view);
  }
  if (list.str().empty()) return "SELECT '' AS name WHERE false";
  return list.raw(")) views(name)").str();
}

/// The text that the tree is run as, which is `tree` as `serialised` said it; `checked` is told
/// what it stands for.
Result<std::string> write_back(duckdb_connection connection, std::string serialised,
                               json::value tree, const StatementContext& context,
                               CheckedStatement& checked) {
  STRATA_ASSIGN_OR_RETURN(const bool has_doubles, sql_gate::spell_doubles(tree, context.sql));
  if (has_doubles) {
    serialised = json::serialize(tree);
    checked.respelled = true;
  }
  STRATA_ASSIGN_OR_RETURN(std::string text,
                          convert(connection, Direction::kToText, serialised, context));
  STRATA_ASSIGN_OR_RETURN(const std::string again,
                          convert(connection, Direction::kToTree, text, context));
  const auto written = sql_gate::read_tree(again, text);
  if (!written || !sql_gate::is_same(tree, *written, checked.places)) {
    return make_error(
        Code::kSqlRefused,
        "the statement reads otherwise once it is written back: spell it more plainly", text);
  }
  return text;
}

/// Cut in the engine, so that it never makes more rows than are wanted.
void set_sql(CheckedStatement& checked, std::string text, std::uint64_t rows_max) {
  checked.sql = std::move(text);
  if (checked.explains) {
    put_around(checked, fmt::format("{} ", kExplain), "");
  } else {
    put_around(checked, "SELECT * FROM (", fmt::format(") LIMIT {}", rows_max + 1));
  }
}

}  // namespace

void put_around(CheckedStatement& checked, std::string_view before, std::string_view behind) {
  sql_gate::Places moved;
  for (const auto& [there, here] : checked.places) moved.emplace(there + before.size(), here);
  checked.places = std::move(moved);
  checked.sql = fmt::format("{}{}{}", before, checked.sql, behind);
}

Result<CheckedStatement> check_statement(const GateConnections& connections,
                                         const StatementContext& context,
                                         const std::set<std::string>& views,
                                         std::uint64_t rows_max) {
  CheckedStatement checked;
  std::string sql(context.sql);
  STRATA_ASSIGN_OR_RETURN(checked.explains, blank_explain(sql));
  const idx_t count =
      duckdb_extract_statements(connections.query, sql.c_str(), checked.original.out());
  if (count == 0) {
    const char* why =
        checked.original ? duckdb_extract_statements_error(checked.original.get()) : nullptr;
    if (why != nullptr) return describe_failure(why, context).error;
    return make_error(Code::kSqlError, "there is no statement: send one SELECT");
  }
  if (count != 1) return refuse_many(count, context.sql);

  STRATA_ASSIGN_OR_RETURN(std::string serialised,
                          convert(connections.query, Direction::kToTree, sql, context));
  STRATA_ASSIGN_OR_RETURN(json::value tree, sql_gate::read_tree(serialised, sql));
  const sql_gate::Readable readable = {.catalog = kCatalogName,
                                       .views = views,
                                       .manifest = kManifestTable,
                                       .knows_function = [&connections](std::string_view name) {
                                         return knows_function(connections.bare, name);
                                       }};
  STRATA_ASSIGN_OR_RETURN(sql_gate::Accepted accepted, sql_gate::check(tree, sql, readable));
  if (accepted.form == sql_gate::Form::kShowTables) {
    set_sql(checked, list_of_views(views, accepted.schema), rows_max);
    return checked;
  }
  checked.tables = std::move(accepted.tables);
  checked.names_manifest = accepted.names_manifest;
  checked.raises = accepted.raises;
  checked.respelled = accepted.respelled;
  STRATA_ASSIGN_OR_RETURN(std::string text, write_back(connections.query, std::move(serialised),
                                                       std::move(tree), context, checked));
  STRATA_RETURN_IF_ERROR(ask_engine(connections.bare, text, readable));
  set_sql(checked, std::move(text), rows_max);
  return checked;
}

}  // namespace strata::duck
