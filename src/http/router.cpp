#include "http/router.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "http/text.h"

namespace strata::http {
namespace {

/// Nothing: a segment does not decode, so no route can fit.
std::optional<std::vector<std::string>> segments_of(std::string_view raw_path) {
  std::vector<std::string> segments;
  if (!raw_path.starts_with('/')) return std::nullopt;
  raw_path.remove_prefix(1);
  while (true) {
    const std::size_t end = raw_path.find('/');
    auto segment = percent_decode(raw_path.substr(0, end), Plus::kLiteral);
    if (!segment) return std::nullopt;
    segments.push_back(std::move(*segment));
    if (end == std::string_view::npos) return segments;
    raw_path.remove_prefix(end + 1);
  }
}

}  // namespace

Router::Router(std::vector<Route> routes) {
  std::set<std::string> shapes;
  for (Route& route : routes) {
    STRATA_CHECK(route.handler != nullptr);
    routes_.push_back(compile(std::move(route)));
    const Compiled& compiled = routes_.back();
    std::string shape = compiled.route.method;
    for (const Part& part : compiled.parts) shape += part.is_param ? "/{}" : "/" + part.text;
    STRATA_CHECK(shapes.insert(shape).second);
  }
  std::ranges::stable_sort(routes_, more_literal);
}

Router::Compiled Router::compile(Route route) {
  auto segments = segments_of(route.pattern);
  STRATA_CHECK(segments.has_value());
  Compiled compiled{std::move(route), {}};
  for (std::string& segment : *segments) {
    const bool is_param = segment.size() > 2 && segment.starts_with('{') && segment.ends_with('}');
    if (is_param) segment = segment.substr(1, segment.size() - 2);
    compiled.parts.push_back(Part{is_param, std::move(segment)});
  }
  return compiled;
}

bool Router::more_literal(const Compiled& a, const Compiled& b) {
  return std::ranges::lexicographical_compare(a.parts, b.parts, {}, &Part::is_param,
                                              &Part::is_param);
}

bool Router::fits(const Compiled& compiled, const std::vector<std::string>& segments,
                  std::map<std::string, std::string>& params) {
  if (compiled.parts.size() != segments.size()) return false;
  params.clear();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Part& part = compiled.parts[i];
    if (part.is_param ? segments[i].empty() : segments[i] != part.text) return false;
    if (part.is_param) params.insert_or_assign(part.text, segments[i]);
  }
  return true;
}

RouteMatch Router::match(std::string_view method, std::string_view raw_path) const {
  RouteMatch match;
  const auto segments = segments_of(raw_path);
  if (!segments) return match;
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  std::set<std::string> allowed;
  for (const Compiled& compiled : routes_) {
    if (!fits(compiled, *segments, match.params)) continue;
    if (compiled.route.method == wanted) {
      match.route = &compiled.route;
      return match;
    }
    allowed.insert(compiled.route.method);
    if (compiled.route.method == "GET") allowed.insert("HEAD");
  }
  match.params.clear();
  match.allow = fmt::format("{}", fmt::join(allowed, ", "));
  return match;
}

}  // namespace strata::http
