#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// The parse tree of a SELECT as DuckDB's json_serialize_sql writes it: which nodes may stand in
/// it, and what each of their members is. What is not in these tables is refused by name, so that a
/// construct of a later DuckDB is met with a no and not overlooked.
namespace strata::sql_gate {

enum class Role : std::uint8_t {
  kPlain,         // texts, numbers, truths and lists of them: nothing to look into
  kRecord,        // data in any form, with no expression and no query in it
  kNothing,       // null or empty: a thing that is never run here
  kExpression,    // one, or null
  kExpressions,   // a list
  kRows,          // a list of lists: VALUES
  kNamed,         // a list of {key, value: expression}
  kCases,         // a list of {when_expr, then_expr}
  kOrders,        // a list of {type, null_order, expression}
  kModifier,      // what follows a query, or stands in a call: ORDER BY, LIMIT, DISTINCT
  kModifiers,     // a list
  kCommonTables,  // {map: [{key, value: {query, ...}}]}: the WITH list
  kNode,          // a query's node, or null
  kQuery,         // a node in its wrapping {node, named_param_map}
  kTable,         // what stands in FROM, or null
  kCall,          // of a table function
  kPivots,        // a list of what a PIVOT turns
  kPivotEntries,  // the values it turns
  kType,          // of a CAST
  kTypes,         // a list
};

struct Member {
  std::string_view name;
  Role role;
};

struct Shape {
  std::string_view name;   // `class` of an expression, `type` of anything else
  std::string_view types;  // an expression's, with a blank before and after each
  std::span<const Member> members;
};

/// Null: not allowed.
const Shape* find_node(std::string_view type);
const Shape* find_table(std::string_view type);
const Shape* find_modifier(std::string_view type);
const Shape* find_expression(std::string_view expression_class);

/// What every table and every expression has besides.
std::span<const Member> table_members();
std::span<const Member> expression_members();

std::span<const Member> pivot_members();
std::span<const Member> pivot_entry_members();
std::span<const Member> common_table_members();

/// What describes a type beyond its name: lengths, members, what an array is of.
bool is_allowed_type_info(std::string_view type);

}  // namespace strata::sql_gate
