#include "catalog/postgres_url.h"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace strata::catalog {
namespace {

/// Whether `text` reads the same to libpq and to a person. libpq ends the user's part at the first
/// `@` and looks for none behind the first `/`: a password with a bare `@` or `/` in it would be
/// looked up as a host, and end in the log as one.
bool is_unambiguous(std::string_view text) {
  const auto scheme = text.find("://");
  if (scheme == std::string_view::npos) return false;
  const std::string_view name = text.substr(0, scheme);
  if (name != "postgresql" && name != "postgres") return false;
  const std::string_view rest = text.substr(scheme + 3);
  const auto at = rest.find('@');
  return at == std::string_view::npos || (rest.find('@', at + 1) == std::string_view::npos &&
                                          rest.substr(0, at).find('/') == std::string_view::npos);
}

/// Several hosts have several ports, with commas between.
bool is_port_list(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == ','; });
}

}  // namespace

Result<PostgresUrl> PostgresUrl::parse(const std::string& text) {
  const Error unreadable = make_error(
      Code::kBadRequest,
      "The URL of PostgreSQL cannot be read. Write postgresql://user:password@host:5432/database, "
      "with the password's special characters as percent codes: @ is %40, / is %2F, : is %3A, "
      "% is %25.");
  if (!is_unambiguous(text)) return unreadable;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(text.c_str(), nullptr), &PQconninfoFree);
  if (options == nullptr) return unreadable;
  std::vector<std::pair<std::string, std::string>> parts;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    const std::string_view keyword = option->keyword;
    if (keyword == "port" && !is_port_list(option->val)) return unreadable;
    parts.emplace_back(keyword, option->val);
  }
  return PostgresUrl(std::move(parts));
}

}  // namespace strata::catalog
