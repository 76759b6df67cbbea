#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <expected>
#include <ostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/control.h"
#include "cli/json.h"
#include "cli/listing.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

namespace json = boost::json;

/// Speaks to a server, or with --data to nobody: `context.offline` answers as a server would.
struct TokenCommand : ControlCommand {
  std::string data;

  std::expected<http::ClientResponse, ExitCode> answer(CommandContext& context,
                                                       const ControlRequest& request) const {
    if (data.empty()) return ask_for_success(context, connection, request);
    auto response = context.offline(data, request);
    if (!response) {
      complain(context, response.error().message);
      return std::unexpected(ExitCode::kRefused);
    }
    if (response->status / 100 != 2) return std::unexpected(report_refused(context, *response));
    return *std::move(response);
  }
};

struct TokenCreateCommand final : TokenCommand {
  std::vector<std::string> scopes;
  std::string expires;
  std::string name;

  ExitCode run(CommandContext& context) override {
    json::object body{{"scopes", json::array(scopes.begin(), scopes.end())}};
    if (!expires.empty()) body["expires"] = expires;
    if (!name.empty()) body["name"] = name;
    const auto response =
        answer(context, {.method = "POST", .target = "/tokens", .body = json::serialize(body)});
    if (!response) return response.error();
    // The token alone on stdout, so that a script takes it as it is.
    return print_answer(context, *this, *response, [&context](const json::object& made) {
      const std::string expires_at = text_member(made, "expires_at");
      *context.err << "token " << printable(text_member(made, "id"))
                   << (expires_at.empty() ? ", without an end"
                                          : ", valid until " + printable(expires_at))
                   << ". It is shown this once; keep it like a password.\n"
                   << std::flush;
      return printable(text_member(made, "token")) + '\n';
    });
  }
};

struct TokenListCommand final : TokenCommand {
  ExitCode run(CommandContext& context) override {
    const auto response = answer(context, {.target = "/tokens"});
    if (!response) return response.error();
    return print_answer(context, *this, *response, [](const json::object& listed) {
      return render_list(listed, {"id", "scopes", "expires_at", "created_at", "name"});
    });
  }
};

struct TokenRevokeCommand final : TokenCommand {
  std::string id;

  ExitCode run(CommandContext& context) override {
    const auto response =
        answer(context, {.method = "DELETE", .target = "/tokens/" + http::percent_encode(id)});
    if (!response) return response.error();
    return print_answer(context, *this, *response, [this](const json::object&) {
      return "revoked token " + printable(id) + '\n';
    });
  }
};

void add_token_options(CLI::App& app, TokenCommand& command) {
  app.add_option("--data", command.data,
                 "work on this root folder itself, server or not, as the user who runs the server")
      ->type_name("DIR");
  add_control_options(app, command);
}

}  // namespace

void add_token_commands(CLI::App& app, CommandContext& context) {
  CLI::App* group = app.add_subcommand("token", "Make, list and revoke access tokens");
  group->require_subcommand(1);
  group->footer("Example:\n  strata token list --data ./strata-data");

  const auto [create, made] = add_command<TokenCreateCommand>(
      *group, context, "create", "Make a token and print it",
      "strata token create --data ./strata-data --scope admin --expires 90d");
  create
      ->add_option("--scope", made->scopes,
                   "ingest:KB/STREAM, read:KB, model:KB or admin; may be repeated")
      ->required();
  create->add_option("--expires", made->expires, "after so long, such as 90d, 12h or 30m");
  create->add_option("--name", made->name, "what it is for");
  add_token_options(*create, *made);

  const auto [list, listed] = add_command<TokenListCommand>(
      *group, context, "list", "List tokens", "strata token list --data ./strata-data");
  add_token_options(*list, *listed);

  const auto [revoke, revoked] =
      add_command<TokenRevokeCommand>(*group, context, "revoke", "End a token at once",
                                      "strata token revoke --data ./strata-data 0123456789ab");
  revoke->add_option("ID", revoked->id, "the token's id, as list shows it")->required();
  add_token_options(*revoke, *revoked);
}

}  // namespace strata::cli
