#include "api/handlers.h"
#include "api/json.h"

namespace strata::api {

namespace json = boost::json;

Result<http::Response> get_healthz(const http::Request&, Services&) {
  return json_response(200, json::object{{"live", true}});
}

Result<http::Response> get_readyz(const http::Request&, Services& services) {
  json::array reasons;
  if (const auto degraded = services.root.degraded()) {
    reasons.emplace_back("Ingest is stopped: " + *degraded);
  }
  for (const std::string& problem : services.streams.problems()) reasons.emplace_back(problem);
  for (const auto& unopened : services.knowledgebases.unopened()) {
    reasons.emplace_back("Knowledgebase " + unopened.id +
                         " cannot be opened: " + unopened.error.message);
  }
  const io::ProbeReport& probe = services.root.probe();
  const bool ready = reasons.empty();
  return json_response(ready ? 200 : 503, json::object{{"ready", ready},
                                                       {"reasons", std::move(reasons)},
                                                       {"probe",
                                                        {{"no_replace", probe.no_replace},
                                                         {"exchange", probe.exchange},
                                                         {"hard_links", probe.hard_links},
                                                         {"directory_sync", probe.directory_sync},
                                                         {"free_bytes", probe.free_bytes}}}});
}

Result<http::Response> get_metrics(const http::Request&, Services& services) {
  http::Response response;
  response.headers.emplace_back("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  response.body = services.metrics.text();
  return response;
}

}  // namespace strata::api
