#include "api/handlers.h"
#include "api/json.h"

namespace strata::api {

namespace json = boost::json;

namespace {

std::vector<std::string> held_by_outsiders(Services& services) {
  std::vector<std::string> reasons;
  const auto knowledgebases = services.knowledgebases.list();
  if (!knowledgebases) return reasons;
  for (kb::Knowledgebase* knowledgebase : *knowledgebases) {
    const auto newest = knowledgebase->generations().newest();
    if (!newest) continue;
    const auto held = knowledgebase->generations().held_by_outsider(*newest);
    if (!held || !*held) continue;
    reasons.push_back("Knowledgebase " + knowledgebase->id().str() +
                      " cannot be queried: another program holds its DuckDB file open for writing; "
                      "close it there, or open it read-only.");
  }
  return reasons;
}

/// What goes on without, and what does not. Asked for each time: a look at the state of things is
/// worth a round trip.
json::array reduced_features(const Services& services) {
  json::array reduced;
  const kb::SharedServices& shared = services.root.shared();
  if (shared.postgres != nullptr) {
    if (const auto there = shared.postgres->ping(); !there) {
      reduced.emplace_back(
          "Batches land and queries are answered, but receivers and knowledgebases of the backend "
          "postgres are neither made nor listed as tables: " +
          there.error().message);
    }
  }
  if (services.clock_check != nullptr) {
    if (auto doubt = services.clock_check->doubt()) reduced.emplace_back(*std::move(doubt));
  }
  if (shared.redis != nullptr) {
    if (const auto there = shared.redis->ping(); !there) {
      reduced.emplace_back(
          "Batches land and queries are answered, but the view of a new stream waits: " +
          there.error().message);
    }
  }
  return reduced;
}

}  // namespace

Result<http::Response> get_healthz(const http::Request&, Services&) {
  return json_response(200, json::object{{"live", true}});
}

Result<http::Response> get_readyz(const http::Request&, Services& services) {
  json::array reasons;
  if (const auto stop = services.root.ingest_stop(0)) {
    reasons.emplace_back("Ingest is stopped: " + stop->message);
  }
  for (const std::string& problem : services.streams.problems()) reasons.emplace_back(problem);
  // Lists the kbs, so that those that cannot be opened are today's.
  const auto held_open = held_by_outsiders(services);
  for (const auto& unopened : services.knowledgebases.unopened()) {
    reasons.emplace_back("Knowledgebase " + unopened.id +
                         " cannot be opened: " + unopened.error.message);
  }
  for (const std::string& held : held_open) reasons.emplace_back(held);
  if (!services.sandbox.whole() && !services.unsafe_queries) {
    reasons.emplace_back(duck::unsafe_queries_reason(services.sandbox));
  }
  const io::ProbeReport& probe = services.root.probe();
  const auto space = services.stream_services.fs.disk_space(services.root.directory());
  const bool ready = reasons.empty();
  return json_response(ready ? 200 : 503,
                       json::object{{"ready", ready},
                                    {"reasons", std::move(reasons)},
                                    {"reduced", reduced_features(services)},
                                    {"probe",
                                     {{"no_replace", probe.no_replace},
                                      {"exchange", probe.exchange},
                                      {"hard_links", probe.hard_links},
                                      {"directory_sync", probe.directory_sync},
                                      {"free_bytes", space ? space->free_bytes : 0},
                                      {"reserve_bytes", space ? space->reserve_bytes() : 0},
                                      {"landlock", services.sandbox.landlock_abi},
                                      {"seccomp", services.sandbox.seccomp}}}});
}

Result<http::Response> get_metrics(const http::Request&, Services& services) {
  http::Response response;
  response.headers.emplace_back("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  response.body = services.metrics.text();
  return response;
}

}  // namespace strata::api
