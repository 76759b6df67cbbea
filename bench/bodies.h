#pragma once

#include <cstdint>
#include <string>

namespace strata::bench {

/// An NDJSON body of `rows` records with five columns, as a fleet of sensors would send it. The
/// same seed gives the same bytes.
std::string make_body(std::uint64_t rows, std::uint32_t seed);

}  // namespace strata::bench
