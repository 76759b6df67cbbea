#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <utility>

#include "cli/cli.h"

/// How the commands put themselves on the command line. Private to cli/.
namespace strata::cli {

/// Adds a subcommand that runs a `C`, whose fields take the parsed options; `context` owns it.
/// `example` is a line that works when pasted.
template <typename C>
std::pair<CLI::App*, C*> add_command(CLI::App& parent, CommandContext& context,
                                     const std::string& name, const std::string& description,
                                     const std::string& example) {
  auto owned = std::make_unique<C>();
  C* command = owned.get();
  context.commands.push_back(std::move(owned));
  CLI::App* app = parent.add_subcommand(name, description);
  app->footer("Example:\n  " + example);
  app->callback([command, &context] { context.exit_code = command->run(context); });
  return {app, command};
}

void add_status_command(CLI::App& app, CommandContext& context);
void add_kb_commands(CLI::App& app, CommandContext& context);
void add_receiver_commands(CLI::App& app, CommandContext& context);
void add_batch_commands(CLI::App& app, CommandContext& context);
void add_rejects_commands(CLI::App& app, CommandContext& context);
void add_send_command(CLI::App& app, CommandContext& context);
void add_ontology_commands(CLI::App& app, CommandContext& context);
void add_job_commands(CLI::App& app, CommandContext& context);
void add_token_commands(CLI::App& app, CommandContext& context);
void add_verify_command(CLI::App& app, CommandContext& context);
void add_query_command(CLI::App& app, CommandContext& context);

}  // namespace strata::cli
