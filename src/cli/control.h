#pragma once

#include <functional>
#include <string>

#include "cli/cli.h"
#include "cli/connection.h"
#include "http/client.h"

namespace boost::json {
class object;
}

namespace strata::cli {

/// A command that sends one request and shows the answer, for a person or, with --json, as it is.
struct ControlCommand : Command {
  ConnectionOptions connection;
  bool json = false;
};

void add_control_options(CLI::App& command, ControlCommand& fields);

/// Writes a 2xx answer to `context.out`. kRefused, and told, when it is no JSON object.
ExitCode print_answer(CommandContext& context, const ControlCommand& command,
                      const http::ClientResponse& response,
                      const std::function<std::string(const boost::json::object&)>& render);

}  // namespace strata::cli
