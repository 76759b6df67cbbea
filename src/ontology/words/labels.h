#pragma once

#include <string_view>

namespace strata::ontology::words {

/// The last word of a column that says in people's words which thing it is. No part of the stem.
inline constexpr std::string_view kLabelEndings[] = {
    "description", "email", "label", "mail", "name", "phone", "title",
};

/// Of those, what may as well be free text: sentences make it that.
inline constexpr std::string_view kTextLabels[] = {"description"};

/// Parts of a name: `first_name` is a label of the row's person, and no thing called First.
inline constexpr std::string_view kNameParts[] = {
    "display", "family", "first", "full", "given", "last", "long", "middle", "nick", "sur",
};

/// Of two labels of one thing the earlier word is its key where no identifier is.
inline constexpr std::string_view kLabelPreference[] = {
    "name", "title", "label", "email", "mail", "description", "phone",
};

/// Who can have a first name, when each occurs in one row only.
inline constexpr std::string_view kPersonNouns[] = {
    "contact", "customer", "driver", "employee", "member",  "passenger", "patient",
    "person",  "player",   "staff",  "student",  "teacher", "user",      "worker",
};

}  // namespace strata::ontology::words
