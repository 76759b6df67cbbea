#pragma once

#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "cli/connection.h"
#include "http/client.h"

namespace strata::app {

/// What a server on the root `data` would answer to a request to /tokens, without one: how the
/// first token is made. A POST makes the root where there is none. A refusal is an answer with a
/// problem body; an Error is that there was no answer: the root cannot be opened.
Result<http::ClientResponse> answer_offline(const Clock& clock, const std::string& data,
                                            const cli::ControlRequest& request);

}  // namespace strata::app
