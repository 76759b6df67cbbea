#pragma once

#include <functional>
#include <string>

#include <boost/json/object.hpp>

#include "cli/control.h"

namespace strata::cli {

/// How a job that is done is shown; --json shows its object.
using RenderJob = std::function<std::string(const boost::json::object& job)>;

/// `/knowledgebase/{kb}/strata/jobs/{job}`.
std::string of_job(const std::string& kb, const std::string& job);

/// Asks for the job at `target` until it has ended, and tells each of its steps on `context.err` as
/// it begins. kDone only if the job is done; one that is not is shown whole.
ExitCode watch_job(CommandContext& context, const ControlCommand& command,
                   const std::string& target, const RenderJob& render);

/// What a command does with the 202 of a request that started a job.
ExitCode watch_started_job(CommandContext& context, const ControlCommand& command,
                           const std::string& kb, const http::ClientResponse& response,
                           const RenderJob& render);

}  // namespace strata::cli
