#include "http/router.h"

#include <gtest/gtest.h>

#include <string>

#include "http/test_support.h"

namespace strata::http {
namespace {

TEST(Router, TakesTheMoreLiteralRoute) {
  const auto handler = [](const Request&) { return Response{}; };
  const char* const patterns[] = {
      "/",           "/kb/{kb}", "/kb/all", "/{x}/all", "/kb/{kb}/jobs/{job}", "/kb/{kb}/jobs/last",
      "/kb/{kb}/a/b"};
  std::vector<Route> routes;
  for (const char* pattern : patterns) routes.push_back(test::route("GET", pattern, handler));
  routes.push_back(test::route("PUT", "/kb/{kb}", handler));
  const Router router(std::move(routes));

  struct Row {
    std::string method;
    std::string path;
    std::string pattern;  // empty: none
    std::map<std::string, std::string> params = {};
    std::string allow = "";
  };
  const Row rows[] = {
      {"GET", "/", "/"},
      {"HEAD", "/", "/"},
      {"GET", "/kb/x", "/kb/{kb}", {{"kb", "x"}}},
      {"GET", "/kb/all", "/kb/all"},
      {"PUT", "/kb/all", "/kb/{kb}", {{"kb", "all"}}},
      {"GET", "/y/all", "/{x}/all", {{"x", "y"}}},
      {"GET", "/kb/x/jobs/last", "/kb/{kb}/jobs/last", {{"kb", "x"}}},
      {"GET", "/kb/x/jobs/1", "/kb/{kb}/jobs/{job}", {{"kb", "x"}, {"job", "1"}}},
      {"GET", "/kb/x/jobs/a%2Fb", "/kb/{kb}/jobs/{job}", {{"kb", "x"}, {"job", "a/b"}}},
      {"DELETE", "/kb/x", "", {}, "GET, HEAD, PUT"},
      {"POST", "/kb/x/jobs/1", "", {}, "GET, HEAD"},
      {"GET", "/kb", ""},
      {"GET", "/kb/", ""},
      {"GET", "/kb/x/", ""},
      {"GET", "/kb//jobs/1", ""},
      {"GET", "kb/x", ""},
      {"GET", "/KB/x", ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.method + " " + row.path);
    const RouteMatch match = router.match(row.method, row.path);
    EXPECT_EQ(match.route == nullptr ? "" : match.route->pattern, row.pattern);
    EXPECT_EQ(match.params, row.params);
    EXPECT_EQ(match.allow, row.allow);
  }
}

}  // namespace
}  // namespace strata::http
