#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "api/services.h"
#include "base/error.h"

namespace strata::app {

struct ServeOptions {
  std::string listen = "127.0.0.1:8080";
  std::string data = "./strata-data";
  std::string node = "local";
  std::string postgres;  // a URL, which may hold a password; empty: none
  std::string redis;     // likewise
  std::set<std::string> allowed_hosts;
  api::AuthOptions auth;
  std::string log_format = "text";  // or json
  bool unsafe_queries = false;      // readers' SQL even where the kernel cannot hold the workers
  std::string program;              // this binary's absolute path, for the workers
};

/// Runs the server until SIGTERM or SIGINT, then stops it cleanly; a second signal ends it at once.
/// Blocks. kBadRequest: an option that cannot be; others: why it could not start.
Result<void> serve(const ServeOptions& options);

}  // namespace strata::app
