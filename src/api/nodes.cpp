#include <chrono>

#include "api/handlers.h"
#include "api/json.h"
#include "kb/heartbeat.h"

namespace strata::api {
namespace {

/// A process that ended longer ago is no news, and most were only restarted.
constexpr std::chrono::hours kEndedShownFor{1};

}  // namespace

Result<http::Response> list_nodes(const http::Request&, Services& services) {
  kb::Root& root = services.root;
  STRATA_ASSIGN_OR_RETURN(const auto seen, root.catalog().nodes());
  boost::json::array nodes;
  for (const catalog::NodeSeen& one : seen) {
    const bool alive = kb::is_alive(one, root.catalog_kind());
    if (!alive && one.ago > kEndedShownFor) continue;
    nodes.push_back({{"node", one.node.node},
                     {"process", one.node.process},
                     {"version", one.node.version},
                     {"started_at", one.node.started_at},
                     {"seen_seconds_ago", one.ago.count()},
                     {"alive", alive},
                     {"this", one.node.process == root.process()}});
  }
  return json_response(200, boost::json::object{{"nodes", std::move(nodes)}});
}

}  // namespace strata::api
