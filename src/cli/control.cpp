#include "cli/control.h"

#include <CLI/App.hpp>
#include <ostream>

#include "cli/json.h"

namespace strata::cli {

void add_control_options(CLI::App& command, ControlCommand& fields) {
  command.add_flag("--json", fields.json, "print the server's answer as it is");
  add_connection_options(command, fields.connection);
}

ExitCode print_answer(CommandContext& context, const ControlCommand& command,
                      const http::ClientResponse& response,
                      const std::function<std::string(const boost::json::object&)>& render) {
  const auto answer = parse_object(response.body);
  if (!answer) {
    complain(context, answer.error().message);
    return ExitCode::kRefused;
  }
  if (command.json) {
    *context.out << response.body << (response.body.ends_with('\n') ? "" : "\n") << std::flush;
  } else {
    *context.out << render(*answer) << std::flush;
  }
  return ExitCode::kDone;
}

}  // namespace strata::cli
