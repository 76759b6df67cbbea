#include "sql_gate/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include "base/cells.h"
#include "sql_gate/functions.h"
#include "sql_gate/json.h"
#include "sql_gate/position.h"
#include "sql_gate/series.h"
#include "sql_gate/shapes.h"

namespace strata::sql_gate {
namespace {

namespace json = boost::json;

/// Queries, tables and expressions in one another. A sum of as many terms is as deep.
constexpr int kNestingMax = 1'000;
/// A level of the tree takes a few of its JSON.
constexpr std::size_t kTextDepthMax = 16'384;

constexpr std::string_view kInstead =
    "SHOW TABLES lists the tables there are, DESCRIBE a table shows its columns";

/// The schema by which the right side of a recursive CTE reads all the rows that it has so far.
constexpr std::string_view kRecurring = "recurring";

/// A name that a CTE gives, and what it hides. `outer` is what was in scope before. `recurs` on the
/// right side of that CTE itself.
struct Scope {
  const Scope* outer = nullptr;
  std::string name;
  bool recurs = false;
};

bool in_scope(const Scope* scope, const std::string& name, bool must_recur) {
  for (; scope != nullptr; scope = scope->outer) {
    if (scope->name == name && (scope->recurs || !must_recur)) return true;
  }
  return false;
}

bool is_plain(const json::value& value) {
  if (value.is_object()) return false;
  if (!value.is_array()) return true;
  return std::ranges::all_of(value.get_array(), is_plain);
}

bool is_record(const json::value& value);

/// Data only: whatever is nested in it, no expression and no query is, and no type of a kind
/// unknown.
bool is_record(const json::object& object) {
  const std::string_view kind = text_of(object, "type");
  if (object.contains("class") || object.contains("node")) return false;
  if (!kind.empty() && !is_allowed_type_info(kind)) return false;
  return std::ranges::all_of(object, [](const auto& member) { return is_record(member.value()); });
}

bool is_record(const json::value& value) {
  if (const json::object* object = value.if_object()) return is_record(*object);
  const json::array* list = value.if_array();
  return list == nullptr ||
         std::ranges::all_of(*list, [](const json::value& each) { return is_record(each); });
}

std::optional<Role> role_of(std::span<const Member> members, std::string_view name) {
  for (const Member& member : members) {
    if (member.name == name) return member.role;
  }
  return std::nullopt;
}

/// The engine's own catalog: views and schemas that show what is around the knowledgebase.
bool is_engine_catalog(const std::string& schema, const std::string& table) {
  constexpr std::array kSchemas = {"information_schema", "pg_catalog", "system", "temp"};
  constexpr std::array kPrefixes = {"duckdb_", "pragma_", "sqlite_", "pg_"};
  return std::ranges::find(kSchemas, schema) != kSchemas.end() ||
         std::ranges::any_of(kPrefixes,
                             [&table](const char* prefix) { return table.starts_with(prefix); });
}

/// Not a macro that somebody made in a schema of his own.
bool is_builtin(const json::object& call) {
  const std::string schema = ascii_lower(text_of(call, "schema"));
  const std::string catalog = ascii_lower(text_of(call, "catalog"));
  return (catalog.empty() || catalog == "system") &&
         (schema.empty() || schema == "main" || schema == "pg_catalog");
}

/// What DuckDB would open as a file, did no table have the name.
bool looks_like_file(std::string_view table) {
  return table.find_first_of("./\\:*?[") != std::string_view::npos;
}

class Walk {
 public:
  Walk(std::string_view sql, const Readable& readable) : sql_(sql), readable_(readable) {}

  Result<void> node(const json::object& node, const Scope* scope);
  std::set<std::string> tables;
  bool names_manifest = false;
  bool raises = false;
  bool respelled = false;

 private:
  Error refuse(std::string message) const {
    return make_error(Code::kSqlRefused, message + line_at(sql_, place_));
  }
  Error refuse_unknown(std::string_view what, std::string_view name) const;

  Result<void> enter();
  Result<void> visit(Role role, const json::value& value, const Scope* scope);
  Result<void> visit_object(Role role, const json::object& object, const Scope* scope);
  Result<void> members(const json::object& object, std::span<const Member> own,
                       std::span<const Member> common, const Scope* scope);
  Result<void> each(const json::value& list, Role role, const Scope* scope);
  Result<void> each_member_of(const json::value& list, std::span<const Member> allowed,
                              const Scope* scope);

  Result<const Scope*> common_tables(const json::value& value, const Scope* scope);
  Result<void> modifier(const json::object& modifier, const Scope* scope);
  Result<void> table(const json::object& table, const Scope* scope);
  Result<void> expression(const json::object& expression, const Scope* scope);
  Result<void> base_table(const json::object& table, const Scope* scope);
  Result<void> table_function(const json::object& call, const Scope* scope);
  Result<void> show(const json::object& table) const;
  Result<void> function(const json::object& call);

  const std::string_view sql_;
  const Readable& readable_;
  std::size_t place_ = std::string_view::npos;  // of the innermost node that has one
  int depth_ = 0;
  std::deque<Scope> scopes_;  // stay where they are
};

/// Counts a level for as long as it lives.
class Level {
 public:
  explicit Level(int& depth) : depth_(depth) { ++depth_; }
  ~Level() { --depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  int& depth_;
};

// --- Any object ---------------------------------------------------------------------------------

Error Walk::refuse_unknown(std::string_view what, std::string_view name) const {
  return refuse(fmt::format("{} {} is not run here: write the statement without it", what,
                            name.empty() ? "without a name" : name));
}

Result<void> Walk::enter() {
  if (depth_ <= kNestingMax) return {};
  return refuse(fmt::format("the statement is nested deeper than {} levels", kNestingMax));
}

Result<void> Walk::members(const json::object& object, std::span<const Member> own,
                           std::span<const Member> common, const Scope* scope) {
  for (const auto& member : object) {
    const std::string_view name(member.key().data(), member.key().size());
    auto role = role_of(own, name);
    if (!role) role = role_of(common, name);
    if (!role) return refuse_unknown("the construct", name);
    STRATA_RETURN_IF_ERROR(visit(*role, member.value(), scope));
  }
  return {};
}

Result<void> Walk::each(const json::value& list, Role role, const Scope* scope) {
  if (!list.is_array()) return refuse_unknown("the construct", "out of its place");
  for (const json::value& element : list.get_array()) {
    STRATA_RETURN_IF_ERROR(visit(role, element, scope));
  }
  return {};
}

Result<void> Walk::each_member_of(const json::value& list, std::span<const Member> allowed,
                                  const Scope* scope) {
  if (!list.is_array()) return refuse_unknown("the construct", "out of its place");
  for (const json::value& element : list.get_array()) {
    if (!element.is_object()) return refuse_unknown("the construct", "out of its place");
    STRATA_RETURN_IF_ERROR(members(element.get_object(), allowed, {}, scope));
  }
  return {};
}

Result<void> Walk::visit(Role role, const json::value& value, const Scope* scope) {
  static constexpr Member kNamed[] = {{"key", Role::kRecord}, {"value", Role::kExpression}};
  static constexpr Member kCase[] = {{"when_expr", Role::kExpression},
                                     {"then_expr", Role::kExpression}};
  static constexpr Member kOrder[] = {
      {"type", Role::kPlain}, {"null_order", Role::kPlain}, {"expression", Role::kExpression}};
  const bool absent = value.is_null();
  switch (role) {
    case Role::kPlain:
      if (!is_plain(value)) break;
      return {};
    case Role::kRecord:
    case Role::kType:
      if (!is_record(value)) break;
      return {};
    case Role::kNothing:
      if (absent || value == "") return {};
      break;
    case Role::kExpressions:
      return each(value, Role::kExpression, scope);
    case Role::kRows:
      return each(value, Role::kExpressions, scope);
    case Role::kTypes:
      return each(value, Role::kType, scope);
    case Role::kNamed:
      return each_member_of(value, kNamed, scope);
    case Role::kCases:
      return each_member_of(value, kCase, scope);
    case Role::kOrders:
      return each_member_of(value, kOrder, scope);
    case Role::kPivots:
      return each_member_of(value, pivot_members(), scope);
    case Role::kPivotEntries:
      return each_member_of(value, pivot_entry_members(), scope);
    case Role::kModifiers:
      return each(value, Role::kModifier, scope);
    case Role::kCall:
    case Role::kExpression:
    case Role::kModifier:
    case Role::kNode:
    case Role::kQuery:
    case Role::kTable:
      if (absent) return {};
      if (value.is_object()) return visit_object(role, value.get_object(), scope);
      break;
    case Role::kCommonTables:
      break;  // a query's own affair
  }
  return refuse_unknown("the construct", "out of its place");
}

Result<void> Walk::visit_object(Role role, const json::object& object, const Scope* scope) {
  static constexpr Member kQuery[] = {{"node", Role::kNode}, {"named_param_map", Role::kRecord}};
  const Level level(depth_);
  STRATA_RETURN_IF_ERROR(enter());
  const std::size_t outer_place = std::exchange(place_, place_of(object).value_or(place_));
  auto walked = [&]() -> Result<void> {
    switch (role) {
      case Role::kCall:
        return table_function(object, scope);
      case Role::kExpression:
        return expression(object, scope);
      case Role::kModifier:
        return modifier(object, scope);
      case Role::kNode:
        return node(object, scope);
      case Role::kTable:
        return table(object, scope);
      default:
        return members(object, kQuery, {}, scope);
    }
  }();
  place_ = outer_place;
  return walked;
}

// --- Queries ------------------------------------------------------------------------------------

Result<void> Walk::node(const json::object& node, const Scope* scope) {
  const std::string_view kind = text_of(node, "type");
  const Shape* shape = find_node(kind);
  if (shape == nullptr) return refuse_unknown("a query of the kind", kind);
  if (const json::value* with = node.if_contains("cte_map"); with != nullptr) {
    STRATA_ASSIGN_OR_RETURN(scope, common_tables(*with, scope));
  }
  // Its own name is in scope on its right side, which is run again and again, and not on its left.
  const Scope* right = scope;
  if (kind == "RECURSIVE_CTE_NODE") {
    right = &scopes_.emplace_back(Scope{scope, ascii_lower(text_of(node, "cte_name")), true});
  }
  for (const auto& member : node) {
    const std::string_view name(member.key().data(), member.key().size());
    const auto role = role_of(shape->members, name);
    if (!role) return refuse_unknown("the construct", name);
    if (*role == Role::kCommonTables) continue;
    STRATA_RETURN_IF_ERROR(visit(*role, member.value(), name == "right" ? right : scope));
  }
  return {};
}

/// Each name is in scope for what comes after it, and not in its own query: there it is what stood
/// outside, which need not be a table that anybody may read.
Result<const Scope*> Walk::common_tables(const json::value& value, const Scope* scope) {
  static constexpr Member kEntry[] = {{"key", Role::kPlain}, {"value", Role::kNothing}};
  const json::object* with = value.if_object();
  const json::value* map =
      with == nullptr || with->size() != 1 ? nullptr : with->if_contains("map");
  if (map == nullptr || !map->is_array()) return refuse_unknown("the construct", "cte_map");
  for (const json::value& entry : map->get_array()) {
    const json::object* named = entry.if_object();
    const json::object* table = named == nullptr ? nullptr : object_of(*named, "value");
    if (table == nullptr || named->size() != std::size(kEntry)) {
      return refuse_unknown("the construct", "cte_map");
    }
    STRATA_RETURN_IF_ERROR(members(*table, common_table_members(), {}, scope));
    scope = &scopes_.emplace_back(Scope{scope, ascii_lower(text_of(*named, "key"))});
  }
  return scope;
}

Result<void> Walk::modifier(const json::object& modifier, const Scope* scope) {
  const std::string_view kind = text_of(modifier, "type");
  const Shape* shape = find_modifier(kind);
  if (shape == nullptr) return refuse_unknown("the construct", kind);
  return members(modifier, shape->members, {}, scope);
}

// --- Tables -------------------------------------------------------------------------------------

Result<void> Walk::table(const json::object& table, const Scope* scope) {
  const std::string_view kind = text_of(table, "type");
  const Shape* shape = find_table(kind);
  if (shape == nullptr) return refuse_unknown("a table of the kind", kind);
  if (kind == "BASE_TABLE") STRATA_RETURN_IF_ERROR(base_table(table, scope));
  if (kind == "SHOW_REF") STRATA_RETURN_IF_ERROR(show(table));
  return members(table, shape->members, table_members(), scope);
}

Result<void> Walk::base_table(const json::object& table, const Scope* scope) {
  const std::string name = ascii_lower(text_of(table, "table_name"));
  std::string schema = ascii_lower(text_of(table, "schema_name"));
  std::string catalog = ascii_lower(text_of(table, "catalog_name"));
  const bool is_recurring = schema == kRecurring;
  if (catalog.empty() && (schema.empty() || is_recurring) && in_scope(scope, name, is_recurring)) {
    return {};
  }
  if (catalog.empty() && (schema.empty() || schema == "main") && name == readable_.manifest) {
    names_manifest = true;
    return {};
  }
  // Of two names the first may be a schema's or a catalog's; no schema is called like the catalog.
  if (catalog.empty() && schema == readable_.catalog) catalog = std::exchange(schema, {});
  if (schema.empty()) schema = "main";
  const std::string full = schema + '.' + name;
  if (!catalog.empty() && catalog != readable_.catalog) {
    return refuse(
        fmt::format("{} is no database that is read here: only this knowledgebase's "
                    "tables are; {}",
                    catalog, kInstead));
  }
  if (readable_.views.contains(full)) {
    tables.insert(full);
    return {};
  }
  if (looks_like_file(name)) {
    return refuse(fmt::format(
        "files are not read by name: only this knowledgebase's tables are; {}", kInstead));
  }
  if (is_engine_catalog(schema, name)) {
    return refuse(fmt::format("{} belongs to the engine and is not shown: {}",
                              schema == "main" ? name : full, kInstead));
  }
  return make_error(Code::kUnknownTable,
                    fmt::format("Catalog Error: Table with name {} does not exist!{}",
                                text_of(table, "table_name"), line_at(sql_, place_)),
                    full);
}

Result<void> Walk::table_function(const json::object& call, const Scope* scope) {
  const Shape* shape = find_expression(text_of(call, "class"));
  const std::string name = ascii_lower(text_of(call, "function_name"));
  if (shape == nullptr || !is_allowed_table_function(name) || !is_builtin(call)) {
    return refuse(
        fmt::format("the table function {} is not run here: only unnest, range and "
                    "generate_series are; {}",
                    name, kInstead));
  }
  if (name != "unnest") {
    if (const auto why = series_refusal(call)) return refuse(*why);
  }
  return members(call, shape->members, expression_members(), scope);
}

/// DESCRIBE and SUMMARIZE hold the query they are about; anything else shows the engine.
Result<void> Walk::show(const json::object& table) const {
  const std::string_view kind = text_of(table, "show_type");
  if (object_of(table, "query") != nullptr && (kind == "DESCRIBE" || kind == "SUMMARY")) return {};
  std::string what(text_of(table, "table_name"));
  std::erase(what, '"');
  if (what == "tables" || what == "__show_tables_expanded" || what.empty()) {
    return refuse("SHOW TABLES stands alone: send it as a statement of its own");
  }
  return refuse(fmt::format("SHOW {} is not run here: {}", what, kInstead));
}

// --- Expressions --------------------------------------------------------------------------------

Result<void> Walk::expression(const json::object& expression, const Scope* scope) {
  const std::string_view kind = text_of(expression, "class");
  if (kind == "PARAMETER") {
    return make_error(Code::kSqlError,
                      "a parameter (? or $1) has no value here: write the value in its place" +
                          line_at(sql_, place_));
  }
  const Shape* shape = find_expression(kind);
  if (shape == nullptr) return refuse_unknown("an expression of the kind", kind);
  const std::string_view type = text_of(expression, "type");
  if (type.empty() || shape->types.find(' ' + std::string(type) + ' ') == std::string_view::npos) {
    return refuse_unknown("an expression of the kind", type);
  }
  respelled = respelled || kind == "LAMBDA";
  if (kind == "FUNCTION" || kind == "WINDOW") STRATA_RETURN_IF_ERROR(function(expression));
  return members(expression, shape->members, expression_members(), scope);
}

Result<void> Walk::function(const json::object& call) {
  const std::string name = ascii_lower(text_of(call, "function_name"));
  const bool builtin = is_builtin(call);
  if (builtin && is_allowed_function(name)) {
    raises = raises || name == "error";
    respelled = respelled || name.starts_with("to_");  // INTERVAL 1 DAY is to_days(...)
    return {};
  }
  const auto nearest = nearest_function(name);
  if (builtin && !readable_.knows_function(name)) {
    return make_error(
        Code::kSqlError,
        fmt::format("Catalog Error: Scalar Function with name {} does not exist!{}{}", name,
                    nearest ? fmt::format("\nDid you mean \"{}\"?", *nearest) : "",
                    line_at(sql_, place_)));
  }
  return refuse(
      fmt::format("the function {} is not run here: only functions that compute a value "
                  "of their arguments are{}",
                  name, nearest ? fmt::format(", such as {}", *nearest) : ""));
}

/// The parts of a name up to what follows it, in lower case; a part in quotes may hold anything.
std::vector<std::string> name_parts(std::string_view written) {
  std::vector<std::string> parts = {{}};
  bool quoted = false;
  for (std::size_t index = 0; index < written.size(); ++index) {
    const char character = written[index];
    if (character == '"') {
      const bool doubled = quoted && index + 1 < written.size() && written[index + 1] == '"';
      if (doubled) {
        parts.back() += written[++index];
      } else {
        quoted = !quoted;
      }
    } else if (!quoted && character == '.') {
      parts.emplace_back();
    } else if (!quoted && character == ' ') {
      break;
    } else {
      parts.back() += character;
    }
  }
  for (std::string& part : parts) part = ascii_lower(part);
  return parts;
}

/// `SHOW TABLES` in one of its spellings, as a whole statement.
std::optional<Accepted> show_tables(const json::object& node, const Readable& readable) {
  const json::object* table = object_of(node, "from_table");
  if (table == nullptr || text_of(*table, "type") != "SHOW_REF") return std::nullopt;
  if (object_of(*table, "query") != nullptr) return std::nullopt;
  const std::string_view what = text_of(*table, "table_name");
  const std::string schema = ascii_lower(text_of(*table, "schema_name"));
  if (text_of(*table, "show_type") == "SHOW_FROM") {
    return Accepted{.form = Form::kShowTables,
                    .schema = schema == readable.catalog ? std::string() : schema};
  }
  if (what != "\"tables\"" && what != "__show_tables_expanded") return std::nullopt;
  return Accepted{.form = Form::kShowTables};
}

Error not_one_statement() {
  return make_error(Code::kSqlRefused, "the statement could not be checked: send one SELECT");
}

}  // namespace

bool is_readable(std::string_view written, const Readable& readable) {
  std::vector<std::string> parts = name_parts(written);
  if (parts.size() > 1 && parts.front() == readable.catalog) parts.erase(parts.begin());
  if (parts.size() == 1) parts.insert(parts.begin(), "main");
  if (parts.size() != 2) return false;
  const bool is_manifest = parts[0] == "main" && parts[1] == readable.manifest;
  return is_manifest || readable.views.contains(parts[0] + '.' + parts[1]);
}

FirstWord first_word(std::string_view sql) {
  std::string_view left = sql;
  for (;;) {
    const std::size_t begin = left.find_first_not_of(" \t\r\n\f\v;(");
    if (begin == std::string_view::npos) return {};
    left.remove_prefix(begin);
    const bool line_comment = left.starts_with("--");
    if (!line_comment && !left.starts_with("/*")) break;
    const std::size_t end = line_comment ? left.find('\n') : left.find("*/");
    if (end == std::string_view::npos) return {};
    left.remove_prefix(line_comment ? end : end + 2);
  }
  FirstWord first{.word = {}, .begin = sql.size() - left.size()};
  for (const char character : ascii_lower(left.substr(0, 32))) {
    if (character < 'a' || character > 'z') break;
    first.word += static_cast<char>(character - 'a' + 'A');
  }
  return first;
}

Result<json::value> read_tree(std::string_view serialised, std::string_view sql) {
  json::parse_options options;
  options.max_depth = kTextDepthMax;
  json::error_code failure;
  json::value tree = json::parse(serialised, failure, {}, options);
  if (failure) {
    return make_error(Code::kSqlRefused,
                      "the statement holds a number or a nesting beyond what can be checked",
                      std::string(serialised));
  }
  const json::object* root = tree.if_object();
  const json::value* error = root == nullptr ? nullptr : root->if_contains("error");
  if (error == nullptr || !error->is_bool() || error->get_bool()) {
    const std::string word = first_word(sql).word;
    return make_error(Code::kSqlRefused,
                      fmt::format("{} is not run here: only one statement that reads is (SELECT, "
                                  "FROM, WITH, VALUES, DESCRIBE, SUMMARIZE, EXPLAIN, SHOW TABLES)",
                                  word.empty() ? "this" : word));
  }
  // The parser that counted the statements and the one that wrote the tree have to agree.
  const json::value* statements = root->if_contains("statements");
  if (statements == nullptr || !statements->is_array() || statements->get_array().size() != 1 ||
      !statements->get_array()[0].is_object()) {
    return not_one_statement();
  }
  return tree;
}

Result<Accepted> check(const json::value& tree, std::string_view sql, const Readable& readable) {
  const json::object& statement = tree.at("statements").at(0).get_object();
  const json::object* node = object_of(statement, "node");
  if (node == nullptr) return not_one_statement();
  if (auto list = show_tables(*node, readable)) return std::move(*list);
  Walk walk(sql, readable);
  STRATA_RETURN_IF_ERROR(walk.node(*node, nullptr));
  Accepted accepted;
  accepted.tables.assign(walk.tables.begin(), walk.tables.end());
  accepted.names_manifest = walk.names_manifest;
  accepted.raises = walk.raises;
  accepted.respelled = walk.respelled;
  return accepted;
}

}  // namespace strata::sql_gate
