#pragma once

#include <string_view>

namespace strata::ontology::words {

/// Names that SQL, or Strata in a view of its own, keeps for itself. Another name gets a number.
inline constexpr std::string_view kReservedNames[] = {
    "_batch_id",  "all",       "analyse",   "analyze",    "and",       "any",    "array",
    "as",         "asc",       "between",   "both",       "by",        "case",   "cast",
    "check",      "collate",   "column",    "constraint", "create",    "cross",  "default",
    "deferrable", "desc",      "describe",  "distinct",   "do",        "else",   "end",
    "except",     "exists",    "false",     "fetch",      "filename",  "for",    "foreign",
    "from",       "full",      "grant",     "group",      "having",    "in",     "initially",
    "inner",      "intersect", "into",      "is",         "join",      "lambda", "lateral",
    "leading",    "left",      "like",      "limit",      "natural",   "not",    "null",
    "offset",     "on",        "only",      "or",         "order",     "outer",  "pivot",
    "placing",    "primary",   "qualify",   "references", "returning", "right",  "select",
    "show",       "some",      "summarize", "symmetric",  "table",     "then",   "to",
    "trailing",   "true",      "union",     "unique",     "unpivot",   "using",  "values",
    "variadic",   "when",      "where",     "window",     "with",
};
/// No name of a customer's begins so.
inline constexpr std::string_view kReservedBeginning = "_strata";

}  // namespace strata::ontology::words
