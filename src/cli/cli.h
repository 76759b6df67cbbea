#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "http/client.h"

namespace CLI {
class App;
}

/// The client half of the program `strata`: every command here speaks HTTP to a server.
namespace strata::cli {

/// interface.md "Program". kUsage also stands for what is wrong on this side of the wire: a local
/// file that cannot be read or written, or is not the CSV it claims to be.
enum class ExitCode : std::uint8_t { kDone = 0, kRefused = 1, kUsage = 2, kOutOfReach = 3 };

struct CommandContext;
struct ControlRequest;

/// One command: its fields are what the command line is parsed into.
class Command {
 public:
  virtual ~Command() = default;
  virtual ExitCode run(CommandContext& context) = 0;
};

/// What commands use of the world outside, so that tests put their own in. Everything pointed at
/// outlives the context. `connect` and `sleep` are called from several threads at once by `send`.
struct CommandContext {
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  std::FILE* in = nullptr;
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  const Clock* clock = nullptr;
  std::function<std::optional<std::string>(const char* name)> environment;
  std::function<Result<std::unique_ptr<http::Client>>(const std::string& url,
                                                      std::chrono::milliseconds timeout)>
      connect;
  std::function<void(std::chrono::milliseconds)> sleep;
  /// Answers a request to /tokens as a server on the root folder `data` would, without one.
  std::function<Result<http::ClientResponse>(const std::string& data, const ControlRequest&)>
      offline;

  /// What the command that ran came to. Commands of other modules (serve, worker) set it too.
  ExitCode exit_code = ExitCode::kDone;
  std::vector<std::unique_ptr<Command>> commands;
};

/// The process's own streams, environment and network.
CommandContext system_context(const Clock& clock);

/// Adds status, kb, receiver, send and query to `app`. Both arguments outlive the parse.
void add_client_commands(CLI::App& app, CommandContext& context);

/// Parses the command line, runs the one command it names, answers the process's exit code. Help
/// and version go to `context.out`; wrong usage is told on `context.err` and answers 2.
int run(CLI::App& app, int argc, const char* const* argv, CommandContext& context);

}  // namespace strata::cli
