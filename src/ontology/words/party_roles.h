#pragma once

#include <string_view>
#include <utility>

namespace strata::ontology::words {

/// S7: words that say in which role a thing stands, and what it is where its name does not say.
inline constexpr std::pair<std::string_view, std::string_view> kPartyRoles[] = {
    {"arrival", "place"},  {"billing", "address"}, {"departure", "place"}, {"destination", "place"},
    {"dropoff", "place"},  {"from", "place"},      {"origin", "place"},    {"pickup", "place"},
    {"receiver", "party"}, {"recipient", "party"}, {"sender", "party"},    {"shipping", "address"},
    {"source", "place"},   {"target", "place"},    {"to", "place"},
};

/// S7: roles that a thing has towards another of its own type.
inline constexpr std::string_view kOwnKindRoles[] = {
    "boss", "lead", "manager", "mentor", "parent", "referrer", "supervisor",
};

}  // namespace strata::ontology::words
