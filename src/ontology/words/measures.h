#pragma once

#include <string_view>

namespace strata::ontology::words {

/// Numbers that are money. A constant currency column is their unit.
inline constexpr std::string_view kMoneyWords[] = {
    "amount",       "balance", "bonus",    "budget",  "charge",  "commission",
    "compensation", "cost",    "discount", "expense", "fee",     "fare",
    "gross",        "income",  "net",      "pay",     "payment", "price",
    "profit",       "revenue", "salary",   "sale",    "sales",   "subtotal",
    "tax",          "total",   "turnover", "wage",    "wages",
};

/// Numbers that count or measure how much of something there was.
inline constexpr std::string_view kQuantityWords[] = {
    "bytes",   "clicks",   "count",   "days",  "distance", "duration", "hours",  "kwh",   "length",
    "minutes", "quantity", "seconds", "stock", "units",    "views",    "volume", "votes", "weight",
};

/// Of those, how large a thing is: no amount that moved, so that a list of products with weights is
/// a list of things.
inline constexpr std::string_view kSizeWords[] = {"depth", "height", "length", "weight", "width"};

/// Amounts that stand at a time: summed over everything but time.
inline constexpr std::string_view kSemiAdditiveWords[] = {
    "balance",
    "headcount",
    "inventory",
    "stock",
};
/// Two words that say the same in this order: `on_hand`.
inline constexpr std::string_view kOnHand[] = {"on", "hand"};

/// Numbers whose sum means nothing.
inline constexpr std::string_view kNonAdditiveWords[] = {
    "age",      "altitude", "average",     "battery", "celsius", "elevation", "fahrenheit",
    "humidity", "lat",      "latitude",    "lng",     "lon",     "longitude", "margin",
    "max",      "mean",     "median",      "min",     "per",     "percent",   "percentage",
    "pressure", "price",    "rank",        "rate",    "rating",  "ratio",     "score",
    "speed",    "stars",    "temperature", "unit",    "voltage", "wind",
};

/// What takes so long; a `min` behind one of these is minutes.
inline constexpr std::string_view kTimeSpans[] = {"delay", "duration", "time"};

/// Amounts of a period: a sum over rows of shorter periods counts them again.
inline constexpr std::string_view kPerPeriodWords[] = {
    "annual", "annually", "daily", "hourly", "monthly", "weekly", "yearly",
};

/// A whole number with this as its first words counts something: `num_items`, `number_of_items`,
/// `times_opened`.
inline constexpr std::string_view kCountBeginnings[] = {"count", "number", "times", "total"};

}  // namespace strata::ontology::words
