#pragma once

#include <string_view>

namespace strata::ontology::words {

/// Columns that end so and have at most 20 values describe a thing and are none themselves: S8.
inline constexpr std::string_view kEnumEndings[] = {
    "color", "colour",  "condition", "currency", "flag",    "gender",   "importance",
    "mode",  "outcome", "phase",     "priority", "quality", "severity", "sex",
    "stage", "state",   "status",    "unit",     "uom",     "urgency",
};

/// Whatever their values, they describe where or how a thing is reached.
inline constexpr std::string_view kAttributeEndings[] = {
    "address", "postal", "postcode", "street", "zip",
};

/// Columns that end so are types even if their values are numbers.
inline constexpr std::string_view kTypeEndings[] = {
    "band", "category", "class", "grade", "group", "level", "segment", "tier", "type",
};

/// Of those, the ones that group things across what they are said of: types of their own also where
/// they are called after a thing that fixes them. `product_class` stays, `product_category` is
/// Product's.
inline constexpr std::string_view kOwnTypeEndings[] = {"class", "grade", "level", "type"};

/// What a unit of measures is given by.
inline constexpr std::string_view kUnitWords[] = {"currency", "unit", "uom"};

}  // namespace strata::ontology::words
