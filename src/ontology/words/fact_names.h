#pragma once

#include <string_view>

namespace strata::ontology::words {

/// What a fact is called by what it measures, the first line that fits.
struct MeasureNoun {
  std::string_view noun;
  std::string_view words[6];
};
inline constexpr MeasureNoun kFactNouns[] = {
    {"pay", {"salary", "bonus", "wage", "wages", "compensation", "payroll"}},
    {"reading", {"reading", "celsius", "fahrenheit", "voltage", "humidity", "temperature"}},
    {"sale", {"revenue", "sale", "sales", "turnover"}},
    {"payment", {"payment", "refund"}},
    {"visit", {"visits", "pageviews", "sessions"}},
    {"consumption", {"consumption", "kwh", "usage"}},
};

/// First words that columns share without being called after anything.
inline constexpr std::string_view kNoFactNames[] = {
    "actual",   "average", "check",  "count",     "created", "current", "date",
    "delivery", "due",     "end",    "estimated", "first",   "gross",   "has",
    "is",       "item",    "last",   "line",      "max",     "mean",    "median",
    "min",      "net",     "number", "percent",   "planned", "row",     "scheduled",
    "ship",     "start",   "time",   "total",     "unit",    "updated",
};

}  // namespace strata::ontology::words
