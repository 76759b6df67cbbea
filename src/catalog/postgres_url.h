#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace strata::catalog {

/// Where a PostgreSQL server is and who we are there, as libpq's keywords and values. It may hold a
/// password, so nothing of it belongs into a message or a log.
class PostgresUrl {
 public:
  /// `postgresql://user:password@host:port/database?keyword=value`, each part optional.
  /// kBadRequest: not one, or one whose parts libpq would take for others. libpq's own words quote
  /// what they could not read, which may be a piece of the password: no error of ours repeats them.
  static Result<PostgresUrl> parse(const std::string& text);

  const std::vector<std::pair<std::string, std::string>>& parts() const { return parts_; }

 private:
  explicit PostgresUrl(std::vector<std::pair<std::string, std::string>> parts)
      : parts_(std::move(parts)) {}

  std::vector<std::pair<std::string, std::string>> parts_;
};

}  // namespace strata::catalog
