#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace strata::api {

/// Which of `offered` (`type/subtype`, lower case) an Accept header wants most (RFC 9110, 12.5.1):
/// the highest weight of the most specific range that fits it; of equal ones the one whose range
/// stands first in the header, then the one offered first. Nothing: it wants none of them.
std::optional<std::size_t> choose_media_type(std::string_view accept,
                                             std::span<const std::string_view> offered);

}  // namespace strata::api
