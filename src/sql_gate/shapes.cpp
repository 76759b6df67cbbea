#include "sql_gate/shapes.h"

#include <array>
#include <cstddef>
#include <string>

namespace strata::sql_gate {
namespace {

using enum Role;

// --- Queries ------------------------------------------------------------------------------------

constexpr Member kSelect[] = {{"type", kPlain},
                              {"modifiers", kModifiers},
                              {"cte_map", kCommonTables},
                              {"select_list", kExpressions},
                              {"from_table", kTable},
                              {"where_clause", kExpression},
                              {"group_expressions", kExpressions},
                              {"group_sets", kPlain},
                              {"aggregate_handling", kPlain},
                              {"having", kExpression},
                              {"sample", kRecord},
                              {"qualify", kExpression}};
constexpr Member kSetOperation[] = {
    {"type", kPlain},       {"modifiers", kModifiers}, {"cte_map", kCommonTables},
    {"setop_type", kPlain}, {"setop_all", kPlain},     {"left", kNode},
    {"right", kNode}};
constexpr Member kRecursive[] = {
    {"type", kPlain},     {"modifiers", kModifiers}, {"cte_map", kCommonTables},
    {"cte_name", kPlain}, {"union_all", kPlain},     {"left", kNode},
    {"right", kNode},     {"aliases", kPlain},       {"key_targets", kExpressions}};
constexpr Shape kNodes[] = {{"SELECT_NODE", {}, kSelect},
                            {"SET_OPERATION_NODE", {}, kSetOperation},
                            {"RECURSIVE_CTE_NODE", {}, kRecursive}};

constexpr Member kCommonTable[] = {{"aliases", kPlain},
                                   {"query", kQuery},
                                   {"materialized", kPlain},
                                   {"key_targets", kExpressions}};

// --- What follows a query -----------------------------------------------------------------------

constexpr Member kOrder[] = {{"type", kPlain}, {"orders", kOrders}};
constexpr Member kLimit[] = {{"type", kPlain}, {"limit", kExpression}, {"offset", kExpression}};
constexpr Member kDistinct[] = {{"type", kPlain}, {"distinct_on_targets", kExpressions}};
constexpr Shape kModifierShapes[] = {{"ORDER_MODIFIER", {}, kOrder},
                                     {"LIMIT_MODIFIER", {}, kLimit},
                                     {"LIMIT_PERCENT_MODIFIER", {}, kLimit},
                                     {"DISTINCT_MODIFIER", {}, kDistinct}};

// --- What stands in FROM ------------------------------------------------------------------------

constexpr Member kEveryTable[] = {
    {"type", kPlain}, {"alias", kPlain}, {"sample", kRecord}, {"query_location", kPlain}};
constexpr Member kBaseTable[] = {{"catalog_name", kPlain},
                                 {"schema_name", kPlain},
                                 {"table_name", kPlain},
                                 {"column_name_alias", kPlain},
                                 {"at_clause", kNothing}};
constexpr Member kSubqueryTable[] = {{"subquery", kQuery}, {"column_name_alias", kPlain}};
constexpr Member kJoin[] = {
    {"left", kTable},           {"right", kTable},
    {"condition", kExpression}, {"join_type", kPlain},
    {"ref_type", kPlain},       {"using_columns", kPlain},
    {"delim_flipped", kPlain},  {"duplicate_eliminated_columns", kExpressions}};
constexpr Member kTableFunction[] = {
    {"function", kCall}, {"column_name_alias", kPlain}, {"with_ordinality", kPlain}};
constexpr Member kExpressionList[] = {
    {"expected_names", kPlain}, {"expected_types", kTypes}, {"values", kRows}};
constexpr Member kPivotTable[] = {{"source", kTable},        {"aggregates", kExpressions},
                                  {"unpivot_names", kPlain}, {"pivots", kPivots},
                                  {"groups", kPlain},        {"column_name_alias", kPlain},
                                  {"include_nulls", kPlain}};
constexpr Member kShow[] = {{"table_name", kPlain},
                            {"query", kNode},
                            {"show_type", kPlain},
                            {"catalog_name", kPlain},
                            {"schema_name", kPlain}};
constexpr Shape kTables[] = {{"BASE_TABLE", {}, kBaseTable},
                             {"EMPTY", {}, {}},
                             {"EXPRESSION_LIST", {}, kExpressionList},
                             {"JOIN", {}, kJoin},
                             {"PIVOT", {}, kPivotTable},
                             {"SHOW_REF", {}, kShow},
                             {"SUBQUERY", {}, kSubqueryTable},
                             {"TABLE_FUNCTION", {}, kTableFunction}};

// The values a PIVOT names may come of no query and no enum: that form is several statements.
constexpr Member kPivot[] = {{"pivot_expressions", kExpressions},
                             {"unpivot_names", kPlain},
                             {"entries", kPivotEntries},
                             {"pivot_enum", kNothing}};
constexpr Member kPivotEntry[] = {
    {"values", kRecord}, {"star_expr", kExpression}, {"alias", kPlain}};

// --- Expressions --------------------------------------------------------------------------------

constexpr Member kEveryExpression[] = {
    {"class", kPlain}, {"type", kPlain}, {"alias", kPlain}, {"query_location", kPlain}};
constexpr Member kBetween[] = {
    {"input", kExpression}, {"lower", kExpression}, {"upper", kExpression}};
constexpr Member kCase[] = {{"case_checks", kCases}, {"else_expr", kExpression}};
constexpr Member kCast[] = {{"child", kExpression}, {"cast_type", kType}, {"try_cast", kPlain}};
constexpr Member kCollate[] = {{"child", kExpression}, {"collation", kPlain}};
constexpr Member kColumn[] = {{"column_names", kPlain}};
constexpr Member kTwoSides[] = {{"left", kExpression}, {"right", kExpression}};
constexpr Member kChildren[] = {{"children", kExpressions}};
constexpr Member kConstant[] = {{"value", kRecord}};
constexpr Member kFunction[] = {
    {"catalog", kPlain},        {"schema", kPlain},      {"function_name", kPlain},
    {"children", kExpressions}, {"filter", kExpression}, {"order_bys", kModifier},
    {"distinct", kPlain},       {"is_operator", kPlain}, {"export_state", kPlain}};
constexpr Member kLambda[] = {{"lhs", kExpression}, {"expr", kExpression}};
constexpr Member kPosition[] = {{"index", kPlain}};
constexpr Member kStar[] = {
    {"relation_name", kPlain}, {"exclude_list", kPlain}, {"qualified_exclude_list", kRecord},
    {"replace_list", kNamed},  {"rename_list", kRecord}, {"columns", kPlain},
    {"expr", kExpression}};
constexpr Member kSubquery[] = {{"subquery_type", kPlain},
                                {"subquery", kQuery},
                                {"child", kExpression},
                                {"comparison_type", kPlain}};
constexpr Member kWindow[] = {{"catalog", kPlain},
                              {"schema", kPlain},
                              {"function_name", kPlain},
                              {"children", kExpressions},
                              {"partitions", kExpressions},
                              {"orders", kOrders},
                              {"arg_orders", kOrders},
                              {"start", kPlain},
                              {"end", kPlain},
                              {"start_expr", kExpression},
                              {"end_expr", kExpression},
                              {"offset_expr", kExpression},
                              {"default_expr", kExpression},
                              {"ignore_nulls", kPlain},
                              {"filter_expr", kExpression},
                              {"exclude_clause", kPlain},
                              {"distinct", kPlain}};
constexpr Shape kExpressionShapes[] = {
    {"BETWEEN", " COMPARE_BETWEEN ", kBetween},
    {"CASE", " CASE_EXPR ", kCase},
    {"CAST", " OPERATOR_CAST ", kCast},
    {"COLLATE", " COLLATE ", kCollate},
    {"COLUMN_REF", " COLUMN_REF ", kColumn},
    {"COMPARISON",
     " COMPARE_EQUAL COMPARE_NOTEQUAL COMPARE_LESSTHAN COMPARE_GREATERTHAN "
     "COMPARE_LESSTHANOREQUALTO "
     "COMPARE_GREATERTHANOREQUALTO COMPARE_DISTINCT_FROM COMPARE_NOT_DISTINCT_FROM ",
     kTwoSides},
    {"CONJUNCTION", " CONJUNCTION_AND CONJUNCTION_OR ", kChildren},
    {"CONSTANT", " VALUE_CONSTANT ", kConstant},
    {"FUNCTION", " FUNCTION ", kFunction},
    {"LAMBDA", " LAMBDA ", kLambda},
    {"OPERATOR",
     " OPERATOR_NOT OPERATOR_IS_NULL OPERATOR_IS_NOT_NULL OPERATOR_COALESCE OPERATOR_TRY "
     "OPERATOR_UNPACK COMPARE_IN COMPARE_NOT_IN GROUPING_FUNCTION ARRAY_EXTRACT ARRAY_SLICE "
     "STRUCT_EXTRACT ",
     kChildren},
    {"POSITIONAL_REFERENCE", " POSITIONAL_REFERENCE ", kPosition},
    {"STAR", " STAR ", kStar},
    {"SUBQUERY", " SUBQUERY ", kSubquery},
    {"WINDOW",
     " WINDOW_AGGREGATE WINDOW_ROW_NUMBER WINDOW_RANK WINDOW_RANK_DENSE WINDOW_NTILE "
     "WINDOW_PERCENT_RANK WINDOW_CUME_DIST WINDOW_FIRST_VALUE WINDOW_LAST_VALUE WINDOW_NTH_VALUE "
     "WINDOW_LAG WINDOW_LEAD WINDOW_FILL ",
     kWindow}};

constexpr std::string_view kTypeInfos =
    " ARRAY_TYPE_INFO DECIMAL_TYPE_INFO ENUM_TYPE_INFO LIST_TYPE_INFO STRING_TYPE_INFO "
    "STRUCT_TYPE_INFO UNBOUND_TYPE_INFO ";

template <std::size_t N>
const Shape* find(const Shape (&shapes)[N], std::string_view name) {
  for (const Shape& shape : shapes) {
    if (shape.name == name) return &shape;
  }
  return nullptr;
}

}  // namespace

const Shape* find_node(std::string_view type) { return find(kNodes, type); }
const Shape* find_table(std::string_view type) { return find(kTables, type); }
const Shape* find_modifier(std::string_view type) { return find(kModifierShapes, type); }
const Shape* find_expression(std::string_view expression_class) {
  return find(kExpressionShapes, expression_class);
}

std::span<const Member> table_members() { return kEveryTable; }
std::span<const Member> expression_members() { return kEveryExpression; }
std::span<const Member> pivot_members() { return kPivot; }
std::span<const Member> pivot_entry_members() { return kPivotEntry; }
std::span<const Member> common_table_members() { return kCommonTable; }

bool is_allowed_type_info(std::string_view type) {
  return kTypeInfos.find(' ' + std::string(type) + ' ') != std::string_view::npos;
}

}  // namespace strata::sql_gate
