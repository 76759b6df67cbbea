#pragma once

#include <string>

#include "http/server.h"

namespace strata::app {

/// Sets the program's log up: one line an event on stderr, `format` is text or json. With json
/// every line is one object with time, level and message. Call once, before the first line.
void start_log(const std::string& format);

/// For a server whose log has this format. json: one line for each answered request, with its id,
/// route, path without the query string, status, duration and sizes; so neither SQL nor a token
/// gets into the log. text: nothing.
http::AccessLog access_log(const std::string& format);

}  // namespace strata::app
