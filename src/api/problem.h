#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "http/message.h"
#include "ndjson/parse.h"

/// The one place where a Code becomes an HTTP status and a body (RFC 9457).
namespace strata::api {

int status_of(Code code);
/// The `code` member, a name outside scripts rely on (interface.md, Errors).
std::string_view wire_name(Code code);

/// kInternal shows the request id only; every other error its message.
http::Response problem(const Error& error, const http::Request& request);
/// The same for a job that another one, `job`, keeps from starting.
http::Response job_problem(const Error& error, const std::string& job,
                           const http::Request& request);
/// The same for a rejected batch, with its lines.
http::Response batch_problem(const Error& error, const ndjson::Rejection& rejection,
                             const http::Request& request);

}  // namespace strata::api
