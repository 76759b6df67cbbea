#include "cli/cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "cli/commands.h"

namespace strata::cli {

CommandContext system_context(const Clock& clock) {
  CommandContext context;
  context.out = &std::cout;
  context.err = &std::cerr;
  context.in = stdin;
  context.in_is_terminal = isatty(STDIN_FILENO) == 1;
  context.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  context.err_is_terminal = isatty(STDERR_FILENO) == 1;
  context.clock = &clock;
  context.environment = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
  context.connect = [](const std::string& url, std::chrono::milliseconds timeout) {
    return http::Client::create(url, timeout);
  };
  context.sleep = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); };
  return context;
}

void add_client_commands(CLI::App& app, CommandContext& context) {
  add_status_command(app, context);
  add_kb_commands(app, context);
  add_receiver_commands(app, context);
  add_send_command(app, context);
  add_query_command(app, context);
  add_batch_commands(app, context);
  add_rejects_commands(app, context);
  add_ontology_commands(app, context);
  add_job_commands(app, context);
  add_token_commands(app, context);
  add_verify_command(app, context);
}

int run(CLI::App& app, int argc, const char* const* argv, CommandContext& context) {
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error, *context.out, *context.err);
    return static_cast<int>(code == 0 ? ExitCode::kDone : ExitCode::kUsage);
  }
  return static_cast<int>(context.exit_code);
}

}  // namespace strata::cli
