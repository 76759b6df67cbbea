#pragma once

#include "cli/cli.h"

namespace strata::app {

/// Adds `strata backup`, which works on the root itself, whether a server runs or not. Both
/// arguments outlive the parse.
void add_backup_command(CLI::App& app, cli::CommandContext& context);

}  // namespace strata::app
