#pragma once

#include <string_view>

namespace strata::ontology {

/// Whether a person reads a day, a month or an instant in it, in whatever order its parts are: a
/// year of four digits, a month and perhaps a day with one mark between, then perhaps a clock.
/// `31.05.2023 10:00`, `02/15/2023`, `06/2026`, `June 12 1998`; no `2.10.1` and no `117/2026`.
bool reads_like_date(std::string_view text);

}  // namespace strata::ontology
