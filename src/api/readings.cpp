#include <map>

#include "api/routes.h"
#include "base/clock.h"

namespace strata::api {
namespace {

double to_double(std::uint64_t count) { return static_cast<double>(count); }

double seconds_of(const std::string& time) {
  const auto parsed = parse_iso8601(time);
  return parsed ? std::chrono::duration<double>(parsed->time_since_epoch()).count() : 0;
}

Metrics::Reading lock_acquisitions(Services& services) {
  Metrics::Reading reading{.name = "strata_lock_acquisitions_total",
                           .help = "Times the kb lock was taken, by purpose",
                           .counter = true,
                           .samples = {}};
  for (const auto& [key, count] : services.acquisitions.snapshot()) {
    reading.samples.push_back({{{"kb", key.kb},
                                {"stream", key.stream},
                                {"purpose", std::string(lock::purpose_name(key.purpose))}},
                               static_cast<double>(count)});
  }
  return reading;
}

Metrics::Reading worker_deaths(Services& services) {
  Metrics::Reading reading{.name = "strata_worker_deaths_total",
                           .help = "SQL workers that ended before their query did",
                           .counter = true,
                           .samples = {}};
  std::map<std::string, std::uint64_t> deaths = services.workers.deaths();
  for (const auto& [reason, count] : services.own_workers.deaths()) deaths[reason] += count;
  for (const auto& [reason, count] : deaths) {
    reading.samples.push_back({{{"reason", reason}}, static_cast<double>(count)});
  }
  return reading;
}

void add_streams(Services& services, std::vector<Metrics::Reading>& readings) {
  Metrics::Reading last{.name = "strata_last_landed_timestamp_seconds",
                        .help = "When the newest batch arrived",
                        .counter = false,
                        .samples = {}};
  Metrics::Reading failed{.name = "strata_failed_bytes",
                          .help = "Bodies of rejected batches that are kept",
                          .counter = false,
                          .samples = {}};
  for (stream::Stream* stream : services.streams.open_streams()) {
    const std::vector<std::pair<std::string, std::string>> labels{
        {"kb", stream->knowledgebase().id().str()}, {"stream", stream->id().str()}};
    const std::string newest = stream->numbers().totals().last_landed;
    if (!newest.empty()) last.samples.push_back({labels, seconds_of(newest)});
    failed.samples.push_back({labels, static_cast<double>(stream->rejects().kept().bytes)});
  }
  readings.push_back(std::move(last));
  readings.push_back(std::move(failed));
}

Metrics::Reading generations(Services& services) {
  Metrics::Reading reading{.name = "strata_generation",
                           .help = "Number of the kb's newest generation",
                           .counter = false,
                           .samples = {}};
  const auto knowledgebases = services.knowledgebases.list();
  if (!knowledgebases) return reading;
  for (kb::Knowledgebase* knowledgebase : *knowledgebases) {
    if (const auto newest = knowledgebase->generations().newest()) {
      reading.samples.push_back(
          {{{"kb", knowledgebase->id().str()}}, static_cast<double>(newest->number)});
    }
  }
  return reading;
}

}  // namespace

std::vector<Metrics::Reading> readings(Services& services, const http::Server* server) {
  std::vector<Metrics::Reading> all;
  all.push_back(lock_acquisitions(services));
  all.push_back(worker_deaths(services));
  all.push_back(generations(services));
  add_streams(services, all);
  all.push_back({.name = "strata_commit_queue",
                 .help = "Requests waiting for a commit thread",
                 .counter = false,
                 .samples = {{{}, server == nullptr ? 0.0 : to_double(server->commit_queue())}}});
  all.push_back(
      {.name = "strata_body_bytes_held",
       .help = "Memory of request bodies that are read, wait or are worked on",
       .counter = false,
       .samples = {{{}, server == nullptr ? 0.0 : to_double(server->body_bytes_held())}}});
  if (const auto space = services.stream_services.fs.disk_space(services.root.directory())) {
    all.push_back({.name = "strata_disk_free_bytes",
                   .help = "Free space under the root",
                   .counter = false,
                   .samples = {{{}, to_double(space->free_bytes)}}});
    all.push_back({.name = "strata_disk_reserve_bytes",
                   .help = "Free space below which no batch is taken",
                   .counter = false,
                   .samples = {{{}, to_double(space->reserve_bytes())}}});
  }
  all.push_back({.name = "strata_ingest_stopped",
                 .help = "1 while no batch is taken; /readyz says why",
                 .counter = false,
                 .samples = {{{}, services.root.ingest_stop(0) ? 1.0 : 0.0}}});
  all.push_back({.name = "strata_build_info",
                 .help = "Always 1; the label names the version",
                 .counter = false,
                 .samples = {{{{"version", services.version}}, 1}}});
  return all;
}

}  // namespace strata::api
