#include "api/paging.h"

#include <fmt/format.h>

#include "base/whole_number.h"

namespace strata::api {

Result<PageRequest> read_page(const http::Request& request) {
  PageRequest page{.limit = kPageDefault, .before = std::nullopt};
  if (const auto limit = request.query.find("limit"); limit != request.query.end()) {
    const auto asked = parse_whole_number(limit->second);
    if (!asked || *asked < 1 || *asked > kPageMax) {
      return make_error(Code::kBadRequest,
                        fmt::format("limit is a whole number from 1 to {}.", kPageMax));
    }
    page.limit = *asked;
  }
  if (const auto before = request.query.find("before"); before != request.query.end()) {
    auto id = BatchId::parse(before->second);
    if (!id) {
      return make_error(Code::kBadRequest,
                        "before is the id with which the page before ended, its `next`.");
    }
    page.before = std::move(*id);
  }
  return page;
}

Result<BatchId> batch_of(const http::Request& request) {
  auto id = BatchId::parse(request.params.at("batch"));
  if (!id) return make_error(Code::kNotFound, "no batch can have the id that was asked for.");
  return id;
}

}  // namespace strata::api
