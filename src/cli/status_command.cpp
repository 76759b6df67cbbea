#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/control.h"
#include "cli/json.h"

namespace strata::cli {
namespace {

/// The texts of an array, a line each.
void list(std::ostream& out, const boost::json::value* texts) {
  if (texts == nullptr || !texts->is_array()) return;
  for (const auto& text : texts->get_array()) out << "  " << display(text) << '\n';
}

struct StatusCommand final : ControlCommand {
  ExitCode run(CommandContext& context) override {
    const auto response = ask(context, connection, {.target = "/readyz"});
    if (!response) return response.error();
    const auto answer = parse_object(response->body);
    const auto* ready = answer ? answer->if_contains("ready") : nullptr;
    if (ready == nullptr || !ready->is_bool()) return report_refused(context, *response);
    if (json) {
      *context.out << response->body << '\n';
    } else if (ready->get_bool()) {
      *context.out << "ready\n";
      list(*context.out, answer->if_contains("reduced"));
    } else {
      complain(context, "not ready");
      list(*context.err, answer->if_contains("reasons"));
    }
    return ready->get_bool() ? ExitCode::kDone : ExitCode::kRefused;
  }
};

}  // namespace

void add_status_command(CLI::App& app, CommandContext& context) {
  const auto [command, fields] = add_command<StatusCommand>(
      app, context, "status", "Tell whether the server is ready (0), not (1) or out of reach (3)",
      "strata status");
  add_control_options(*command, *fields);
}

}  // namespace strata::cli
