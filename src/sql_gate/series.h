#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>

/// The bounds of range() and generate_series() in FROM.
namespace strata::sql_gate {

/// Rows that one call may make. They are made one by one, so that time and not memory is the price.
inline constexpr std::int64_t kSeriesRowsMax = 100'000'000;

/// Why the call is not run: a bound that is no constant, or more rows than kSeriesRowsMax. Nothing
/// if it may. Of dates and times only that they are constant is looked at.
std::optional<std::string> series_refusal(const boost::json::object& call);

}  // namespace strata::sql_gate
