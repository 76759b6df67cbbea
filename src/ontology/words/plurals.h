#pragma once

#include <string_view>
#include <utility>

namespace strata::ontology::words {

/// Plurals that no ending tells.
inline constexpr std::pair<std::string_view, std::string_view> kIrregularPlurals[] = {
    {"buses", "bus"},       {"campuses", "campus"},
    {"children", "child"},  {"criteria", "criterion"},
    {"feet", "foot"},       {"indices", "index"},
    {"men", "man"},         {"mice", "mouse"},
    {"movies", "movie"},    {"people", "person"},
    {"statuses", "status"}, {"viruses", "virus"},
    {"vertices", "vertex"}, {"women", "woman"},
};

/// Words that end like a plural and are none.
inline constexpr std::string_view kSingularAsTheyAre[] = {
    "analysis", "basis", "bus",  "canvas", "campus", "corpus", "data",    "gas",    "lens",
    "news",     "os",    "plus", "sales",  "series", "sms",    "species", "status", "virus",
};

}  // namespace strata::ontology::words
