#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/problem.h"
#include "http/client.h"

namespace CLI {
class App;
}

namespace strata::cli {

inline constexpr std::chrono::milliseconds kAnswerTimeout{60'000};
/// Line errors shown of one refused batch.
inline constexpr std::size_t kLineErrorsShown = 10;

/// Where the server is and who asks, as the command line says it.
struct ConnectionOptions {
  std::string url;         // --url, else STRATA_URL, else kDefaultUrl
  std::string token_file;  // --token-file, else STRATA_TOKEN
};

void add_connection_options(CLI::App& command, ConnectionOptions& options);

/// The same, settled.
struct Endpoint {
  std::string url;         // without a slash at the end
  http::Headers identity;  // Authorization, or nothing
};

/// kNotFound, kIo, kBadRequest: the token file. A token that would leave this machine unencrypted
/// is told on `context.err`.
Result<Endpoint> resolve_endpoint(const CommandContext& context, const ConnectionOptions& options);

struct ControlRequest {
  std::string method = "GET";
  std::string target;
  std::string body{};  // JSON; empty: none
};

/// `/knowledgebase/{kb}/strata<rest>`.
std::string strata_path(const std::string& kb, const std::string& rest);

/// Connects and sends one request. An answer of any status; otherwise what went wrong has been
/// told on `context.err` and the exit code is there.
std::expected<http::ClientResponse, ExitCode> ask(CommandContext& context,
                                                  const ConnectionOptions& options,
                                                  const ControlRequest& request);

/// The same, for callers that take only a 2xx: any other answer is told as well.
std::expected<http::ClientResponse, ExitCode> ask_for_success(CommandContext& context,
                                                              const ConnectionOptions& options,
                                                              const ControlRequest& request);

/// `strata: <message>` on `context.err`, in one line.
void complain(CommandContext& context, const std::string& message);

/// Each tells on `context.err` and answers the code that goes with it.
ExitCode report_usage(CommandContext& context, const Error& error);
ExitCode report_out_of_reach(CommandContext& context, const std::string& url, const Error& error);
ExitCode report_refused(CommandContext& context, const http::ClientResponse& response);

}  // namespace strata::cli
