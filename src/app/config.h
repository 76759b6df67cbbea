#pragma once

#include <string>

#include "base/error.h"

namespace CLI {
class App;
}

/// Where a command's options come from besides the command line: `STRATA_<NAME>` in the
/// environment, and the file that --config names. A flag beats the environment, which beats the
/// file; what none of them says keeps its default.
namespace strata::app {

/// Gives every option the command has by now its name in the environment, and adds --config.
void add_config_option(CLI::App& command, std::string& path);

/// Fills in, from the TOML file at `path` (empty: nothing), the options that neither the command
/// line nor the environment set. Call in the command's callback. kBadRequest: the file cannot be
/// read, is no TOML, names a key that no option has, or a value that the option does not take.
Result<void> apply_config(CLI::App& command, const std::string& path);

}  // namespace strata::app
