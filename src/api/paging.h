#pragma once

#include <cstddef>
#include <optional>

#include "base/error.h"
#include "base/ids.h"
#include "http/message.h"

namespace strata::api {

/// `?limit=&before=` of a list that is asked for page by page.
struct PageRequest {
  std::size_t limit = 0;
  std::optional<BatchId> before;
};

inline constexpr std::size_t kPageDefault = 50;
inline constexpr std::size_t kPageMax = 500;

/// kBadRequest: a limit that is none.
Result<PageRequest> read_page(const http::Request& request);

/// The batch a route names as `{batch}`. kNotFound: no batch can have that name.
Result<BatchId> batch_of(const http::Request& request);

}  // namespace strata::api
