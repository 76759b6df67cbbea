#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "ontology/profile.h"

namespace strata::ontology {

/// Distinct cells and how often each occurs.
using Counts = std::map<std::string, std::uint64_t>;

/// The type of 98 % of them, in the order of ontology-and-ask.md 1.2.
ColumnType type_of(const Counts& counts);
bool casts(std::string_view cell, Type type);
bool has_leading_zeros(std::string_view cell);
/// `E9999` is `A9`: what kinds of characters follow each other.
std::string mask_of(std::string_view cell);
bool is_null_like(std::string_view cell);

}  // namespace strata::ontology
