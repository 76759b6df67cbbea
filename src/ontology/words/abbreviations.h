#pragma once

#include <string_view>
#include <utility>

namespace strata::ontology::words {

/// What people write in names of columns, and the word it stands for. Types are named by the word;
/// two names are the same stem if their words are.
inline constexpr std::pair<std::string_view, std::string_view> kAbbreviations[] = {
    {"acct", "account"},     {"addr", "address"},     {"amt", "amount"},
    {"avg", "average"},      {"cat", "category"},     {"ccy", "currency"},
    {"cd", "code"},          {"cnt", "count"},        {"ctry", "country"},
    {"curr", "currency"},    {"cust", "customer"},    {"dept", "department"},
    {"desc", "description"}, {"dest", "destination"}, {"dev", "device"},
    {"dt", "date"},          {"emp", "employee"},     {"grp", "group"},
    {"hrs", "hours"},        {"lbl", "label"},        {"loc", "location"},
    {"mgr", "manager"},      {"mfr", "manufacturer"}, {"mth", "month"},
    {"nbr", "number"},       {"nm", "name"},          {"no", "number"},
    {"nr", "number"},        {"num", "number"},       {"ord", "order"},
    {"org", "organization"}, {"orig", "origin"},      {"pct", "percent"},
    {"prd", "product"},      {"prod", "product"},     {"qty", "quantity"},
    {"rec", "record"},       {"sal", "salary"},       {"seq", "sequence"},
    {"supp", "supplier"},    {"svc", "service"},      {"temp", "temperature"},
    {"trx", "transaction"},  {"txn", "transaction"},  {"vend", "vendor"},
    {"whse", "warehouse"},   {"wh", "warehouse"},     {"yr", "year"},
};

/// Nouns that identifiers are written onto without a mark between: `userid`, `orderno`. A whole
/// number that is called so alone is a code, if it looks like one: `sales_order`.
inline constexpr std::string_view kGluedNouns[] = {
    "account",  "asset",  "case",    "client",  "contract", "customer", "department", "device",
    "employee", "event",  "invoice", "item",    "machine",  "member",   "meter",      "order",
    "patient",  "policy", "product", "sensor",  "session",  "shipment", "site",       "staff",
    "store",    "ticket", "user",    "vehicle", "vendor",   "visit",    "visitor",
};

}  // namespace strata::ontology::words
