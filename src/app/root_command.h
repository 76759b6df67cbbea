#pragma once

#include "cli/cli.h"

namespace CLI {
class App;
}

namespace strata::app {

/// `strata root set`: changes a root's kinds, without a server. Exit codes as `strata backup`.
void add_root_command(CLI::App& app, cli::CommandContext& context);

}  // namespace strata::app
