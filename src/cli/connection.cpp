#include "cli/connection.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <ostream>
#include <utility>

#include "cli/text.h"

namespace strata::cli {
namespace {

constexpr std::string_view kDefaultUrl = "http://127.0.0.1:8080";
constexpr std::size_t kTokenBytesMax = 4096;

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

// A token goes into a header as it is, so nothing that ends a header may be in it.
Result<http::Headers> bearer(const std::string& token, const std::string& origin) {
  const bool legal =
      token.size() <= kTokenBytesMax && std::all_of(token.begin(), token.end(), [](char character) {
        return character > 0x20 && character < 0x7f;
      });
  if (token.empty() || !legal) {
    return make_error(Code::kBadRequest, fmt::format("{} holds no token: it is one word that "
                                                     "begins strata_",
                                                     origin));
  }
  return http::Headers{{"Authorization", "Bearer " + token}};
}

Result<std::string> read_token_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return make_error(Code::kNotFound, fmt::format("the token file {} cannot be opened: {}", path,
                                                   std::strerror(errno)));
  }
  std::string text(kTokenBytesMax + 2, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return make_error(Code::kIo, fmt::format("{} cannot be read", path));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return trimmed(text);
}

/// Whether the URL names this machine.
bool is_loopback(std::string_view url) {
  const std::string_view host = url.substr(std::min(url.size(), url.find("://") + 3));
  for (const std::string_view name : {"localhost", "127.0.0.1", "[::1]"}) {
    const std::string_view rest = host.substr(std::min(host.size(), name.size()));
    if (host.starts_with(name) && (rest.empty() || rest.starts_with(':'))) return true;
  }
  return false;
}

}  // namespace

void add_connection_options(CLI::App& command, ConnectionOptions& options) {
  command
      .add_option("--url", options.url, fmt::format("the server (or STRATA_URL; {})", kDefaultUrl))
      ->type_name("URL");
  command
      .add_option("--token-file", options.token_file,
                  "a file that holds the access token (or STRATA_TOKEN, the token itself)")
      ->type_name("FILE");
}

Result<Endpoint> resolve_endpoint(const CommandContext& context, const ConnectionOptions& options) {
  Endpoint endpoint;
  endpoint.url = options.url;
  if (endpoint.url.empty()) endpoint.url = context.environment("STRATA_URL").value_or("");
  if (endpoint.url.empty()) endpoint.url = kDefaultUrl;
  while (endpoint.url.ends_with('/')) endpoint.url.pop_back();
  if (!options.token_file.empty()) {
    STRATA_ASSIGN_OR_RETURN(const std::string token, read_token_file(options.token_file));
    STRATA_ASSIGN_OR_RETURN(endpoint.identity, bearer(token, options.token_file));
  } else if (const std::string token = trimmed(context.environment("STRATA_TOKEN").value_or(""));
             !token.empty()) {
    STRATA_ASSIGN_OR_RETURN(endpoint.identity, bearer(token, "STRATA_TOKEN"));
  }
  if (!endpoint.identity.empty() && !is_loopback(endpoint.url)) {
    *context.err << fmt::format(
        "strata: the token goes to {} unencrypted: whoever is on the way can read it\n",
        printable(endpoint.url));
  }
  return endpoint;
}

std::string strata_path(const std::string& kb, const std::string& rest) {
  return "/knowledgebase/" + http::percent_encode(kb) + "/strata" + rest;
}

std::expected<http::ClientResponse, ExitCode> ask(CommandContext& context,
                                                  const ConnectionOptions& options,
                                                  const ControlRequest& request) {
  auto endpoint = resolve_endpoint(context, options);
  if (!endpoint) return std::unexpected(report_usage(context, endpoint.error()));
  auto client = context.connect(endpoint->url, kAnswerTimeout);
  if (!client) return std::unexpected(report_usage(context, client.error()));
  http::ClientRequest sent{.method = request.method,
                           .target = request.target,
                           .headers = std::move(endpoint->identity),
                           .body = request.body};
  sent.headers.emplace_back("Accept", "application/json");
  if (!request.body.empty()) sent.headers.emplace_back("Content-Type", "application/json");
  auto response = (*client)->send(sent);
  if (!response) {
    return std::unexpected(report_out_of_reach(context, endpoint->url, response.error()));
  }
  return std::move(*response);
}

std::expected<http::ClientResponse, ExitCode> ask_for_success(CommandContext& context,
                                                              const ConnectionOptions& options,
                                                              const ControlRequest& request) {
  auto response = ask(context, options, request);
  if (response && response->status / 100 != 2) {
    return std::unexpected(report_refused(context, *response));
  }
  return response;
}

void complain(CommandContext& context, const std::string& message) {
  *context.err << "strata: " << message << '\n' << std::flush;
}

ExitCode report_usage(CommandContext& context, const Error& error) {
  complain(context, error.message);
  return ExitCode::kUsage;
}

ExitCode report_out_of_reach(CommandContext& context, const std::string& url, const Error& error) {
  complain(context, fmt::format("no Strata answers at {}: is it running? start it with: make run "
                                "(or strata serve)\n  {}",
                                url, printable(error.message)));
  return ExitCode::kOutOfReach;
}

ExitCode report_refused(CommandContext& context, const http::ClientResponse& response) {
  const Problem problem = read_problem(response);
  complain(context, describe(problem));
  for (std::size_t index = 0; index < problem.errors.size(); ++index) {
    if (index == kLineErrorsShown) break;
    *context.err << "  " << describe(problem.errors[index]) << '\n';
  }
  return ExitCode::kRefused;
}

}  // namespace strata::cli
