#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/control.h"
#include "cli/json.h"

namespace strata::cli {
namespace {

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
    } else {
      complain(context, "not ready");
      const auto* reasons = answer->if_contains("reasons");
      if (reasons != nullptr && reasons->is_array()) {
        for (const auto& reason : reasons->get_array()) {
          *context.err << "  " << display(reason) << '\n';
        }
      }
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
