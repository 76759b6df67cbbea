#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/server.h"

/// Which route a request takes. Immutable, so every thread may ask.
namespace strata::http {

struct RouteMatch {
  const Route* route = nullptr;
  std::map<std::string, std::string> params;  // decoded
  std::string allow;  // no route, but the path has some: their methods, for a 405
};

class Router {
 public:
  /// Two routes of one method and one shape are a broken invariant.
  explicit Router(std::vector<Route> routes);

  /// `raw_path` is not decoded and its escapes are sound. Of the patterns that fit, the one with
  /// the earlier literal part holds. HEAD takes GET's routes.
  RouteMatch match(std::string_view method, std::string_view raw_path) const;

 private:
  struct Part {
    bool is_param;
    std::string text;  // a param's name or the literal
  };
  struct Compiled {
    Route route;
    std::vector<Part> parts;
  };

  static Compiled compile(Route route);
  static bool more_literal(const Compiled& a, const Compiled& b);
  static bool fits(const Compiled& compiled, const std::vector<std::string>& segments,
                   std::map<std::string, std::string>& params);

  std::vector<Compiled> routes_;  // the more literal ones first
};

}  // namespace strata::http
