#pragma once

#include <string>

#include "api/services.h"
#include "base/error.h"
#include "http/message.h"
#include "jobs/job_runner.h"

namespace strata::api {

struct WantedJob {
  std::string kind;
  std::string stream = {};              // empty: the kb itself
  Code in_the_way = Code::kJobRunning;  // what is answered while another job is under way
};

/// What a route answers that starts a job of the kb: 202 `{"job"}`; 409 `job_running`, or what
/// `wanted` says, whose member `job` is the one in the way. Errors: JobRunner::start's.
Result<http::Response> start_job(const http::Request& request, Services& services,
                                 kb::Knowledgebase& knowledgebase, const WantedJob& wanted,
                                 jobs::Work work);

}  // namespace strata::api
