#pragma once

#include <string_view>
#include <utility>

namespace strata::ontology::words {

/// What people write in names of columns, and the word it stands for. Types are named by the word;
/// two names are the same stem if their words are.
inline constexpr std::pair<std::string_view, std::string_view> kAbbreviations[] = {
    {"acct", "account"},     {"addr", "address"},    {"amt", "amount"},
    {"avg", "average"},      {"cat", "category"},    {"cd", "code"},
    {"cnt", "count"},        {"ctry", "country"},    {"curr", "currency"},
    {"cust", "customer"},    {"dept", "department"}, {"desc", "description"},
    {"dest", "destination"}, {"dev", "device"},      {"dt", "date"},
    {"emp", "employee"},     {"grp", "group"},       {"hrs", "hours"},
    {"lbl", "label"},        {"loc", "location"},    {"mgr", "manager"},
    {"mfr", "manufacturer"}, {"mth", "month"},       {"nbr", "number"},
    {"nm", "name"},          {"no", "number"},       {"nr", "number"},
    {"num", "number"},       {"ord", "order"},       {"org", "organization"},
    {"orig", "origin"},      {"pct", "percent"},     {"prd", "product"},
    {"prod", "product"},     {"qty", "quantity"},    {"sal", "salary"},
    {"seq", "sequence"},     {"supp", "supplier"},   {"svc", "service"},
    {"temp", "temperature"}, {"trx", "transaction"}, {"txn", "transaction"},
    {"vend", "vendor"},      {"whse", "warehouse"},  {"wh", "warehouse"},
    {"yr", "year"},
};

/// Nouns that identifiers are written onto without a mark between: `userid`, `orderno`.
inline constexpr std::string_view kGluedNouns[] = {
    "account", "customer", "department", "device",  "employee", "event",
    "invoice", "item",     "order",      "product", "sensor",   "session",
    "site",    "staff",    "store",      "user",    "vendor",   "visitor",
};

}  // namespace strata::ontology::words
