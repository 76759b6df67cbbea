#include "api/jobs.h"

#include <fmt/format.h>

#include <utility>

#include "api/event_stream.h"
#include "api/handlers.h"
#include "api/json.h"
#include "api/paging.h"
#include "api/problem.h"
#include "base/clock.h"

namespace strata::api {
namespace {

namespace json = boost::json;

/// Of `<node>-<boot>-<pid>`; a node's own name may have dashes too.
std::string node_of(const std::string& process) {
  const auto pid = process.rfind('-');
  const auto boot = pid == std::string::npos || pid == 0 ? pid : process.rfind('-', pid - 1);
  return process.substr(0, boot);
}

/// Whole numbers at both ends: a double would be written `0E0` and `1E0`.
json::value share_of_whole(std::uint64_t thousandths) {
  if (thousandths % catalog::kProgressDone == 0) return thousandths / catalog::kProgressDone;
  return static_cast<double>(thousandths) / static_cast<double>(catalog::kProgressDone);
}

json::object render(const catalog::JobRow& job) {
  json::object rendered{{"job", job.id}, {"kind", job.kind}};
  if (!job.subject.empty()) rendered["stream"] = job.subject;
  rendered["state"] = job.state;
  rendered["step"] = job.step;
  rendered["progress"] = share_of_whole(job.progress);
  if (!job.result.empty()) {
    boost::system::error_code no_json;
    json::value result = json::parse(job.result, no_json);
    rendered["result"] = no_json ? json::value(job.result) : std::move(result);
  }
  if (!job.reason.empty()) rendered["reason"] = job.reason;
  rendered["created_at"] = format_iso8601(job.created);
  if (job.ended) rendered["ended_at"] = format_iso8601(*job.ended);
  rendered["node"] = node_of(job.owner);
  return rendered;
}

/// The job a route names, in its kb.
struct Named {
  kb::Knowledgebase* knowledgebase;
  std::string job;
};

Result<Named> job_of(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  // Ids of jobs are spelled as those of batches may be; what is not goes to no catalog.
  const auto id = BatchId::parse(request.params.at("job"));
  if (!id) return make_error(Code::kUnknownJob, "No job can have the id that was asked for.");
  return Named{knowledgebase, id->str()};
}

class JobEvents final : public EventSource {
 public:
  JobEvents(WatcherPlace place, Named named, Services& services)
      : place_(std::move(place)),
        named_(std::move(named)),
        services_(services),
        events_(services.clock) {}

  /// Ends with the job, and with its kb.
  Result<std::optional<std::string>> next() override {
    if (has_ended_) return std::nullopt;
    STRATA_ASSIGN_OR_RETURN(const bool in_place, named_.knowledgebase->in_place());
    if (!in_place) return std::nullopt;
    STRATA_ASSIGN_OR_RETURN(
        const catalog::JobRow job,
        services_.jobs.find(named_.knowledgebase->catalog().jobs(), named_.job));
    has_ended_ = !job.is_under_way();
    return events_.say(json::serialize(render(job)));
  }

 private:
  WatcherPlace place_;
  const Named named_;
  Services& services_;
  ChangeEvents events_;
  bool has_ended_ = false;
};

}  // namespace

Result<http::Response> start_job(const http::Request& request, Services& services,
                                 kb::Knowledgebase& knowledgebase, const WantedJob& wanted,
                                 jobs::Work work) {
  const jobs::JobRequest job{.kind = wanted.kind,
                             .subject = wanted.stream,
                             .kb = knowledgebase.id().str(),
                             .is_gone = [&knowledgebase] {
                               const auto in_place = knowledgebase.in_place();
                               return in_place && !*in_place;
                             }};
  STRATA_ASSIGN_OR_RETURN(
      const jobs::StartedJob started,
      services.jobs.start(knowledgebase.catalog().jobs(), job, std::move(work)));
  if (started.is_new) return json_response(202, json::object{{"job", started.id}});
  return job_problem(
      make_error(wanted.in_the_way,
                 fmt::format("Of a knowledgebase one job runs at a time, and {} is under way: wait "
                             "for it, or cancel it.",
                             started.id)),
      started.id, request);
}

Result<http::Response> list_jobs(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(kb::Knowledgebase* const knowledgebase,
                          knowledgebase_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const PageRequest asked, read_page(request));
  // One more than is shown tells whether there is a next page.
  STRATA_ASSIGN_OR_RETURN(
      const auto found,
      services.jobs.list(knowledgebase->catalog().jobs(),
                         {.limit = asked.limit + 1,
                          .before = asked.before ? asked.before->str() : std::string()}));
  json::array list;
  for (const catalog::JobRow& job : found) {
    if (list.size() < asked.limit) list.push_back(render(job));
  }
  const bool goes_on = found.size() > asked.limit;
  return json_response(200, json::object{{"jobs", std::move(list)},
                                         {"next", goes_on ? json::value(found[asked.limit - 1].id)
                                                          : json::value()}});
}

Result<http::Response> get_job(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(const Named named, job_of(request, services));
  STRATA_ASSIGN_OR_RETURN(const catalog::JobRow job,
                          services.jobs.find(named.knowledgebase->catalog().jobs(), named.job));
  return json_response(200, render(job));
}

Result<http::Response> get_job_events(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(Named named, job_of(request, services));
  // Asked once before the answer begins, so that one that is not there is a 404.
  STRATA_RETURN_IF_ERROR(services.jobs.find(named.knowledgebase->catalog().jobs(), named.job));
  STRATA_ASSIGN_OR_RETURN(WatcherPlace place, WatcherPlace::take(services.subscribers));
  return event_response(std::make_unique<JobEvents>(std::move(place), std::move(named), services));
}

Result<http::Response> delete_job(const http::Request& request, Services& services) {
  STRATA_ASSIGN_OR_RETURN(const Named named, job_of(request, services));
  catalog::Jobs& jobs = named.knowledgebase->catalog().jobs();
  STRATA_RETURN_IF_ERROR(services.jobs.request_cancel(jobs, named.job));
  STRATA_ASSIGN_OR_RETURN(const catalog::JobRow job, services.jobs.find(jobs, named.job));
  return json_response(202, render(job));
}

}  // namespace strata::api
