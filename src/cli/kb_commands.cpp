#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "cli/commands.h"
#include "cli/control.h"
#include "cli/job_watch.h"
#include "cli/json.h"
#include "cli/listing.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

struct KbCreateCommand final : ControlCommand {
  std::string id;
  std::string backend = "file";

  ExitCode run(CommandContext& context) override {
    const boost::json::object body{{"id", id}, {"backend", backend}};
    const auto response = ask_for_success(
        context, connection,
        {.method = "POST", .target = "/knowledgebase", .body = boost::json::serialize(body)});
    if (!response) return response.error();
    return print_answer(context, *this, *response, [this](const boost::json::object&) {
      return "made knowledgebase " + printable(id) + '\n';
    });
  }
};

struct KbListCommand final : ControlCommand {
  ExitCode run(CommandContext& context) override {
    const auto response = ask_for_success(context, connection, {.target = "/knowledgebase"});
    if (!response) return response.error();
    return print_answer(context, *this, *response, [](const boost::json::object& answer) {
      return render_list(answer, {"id", "backend", "created_at"});
    });
  }
};

struct KbShowCommand final : ControlCommand {
  std::string id;

  ExitCode run(CommandContext& context) override {
    const auto response = ask_for_success(context, connection,
                                          {.target = "/knowledgebase/" + http::percent_encode(id)});
    if (!response) return response.error();
    return print_answer(context, *this, *response, render_object);
  }
};

struct KbMigrateCommand final : ControlCommand {
  std::string id;
  std::string backend;

  ExitCode run(CommandContext& context) override {
    const boost::json::object body{{"backend", backend}};
    const auto response =
        ask_for_success(context, connection,
                        {.method = "POST",
                         .target = "/knowledgebase/" + http::percent_encode(id) + "/migrate",
                         .body = boost::json::serialize(body)});
    if (!response) return response.error();
    return watch_started_job(context, *this, id, *response, [this](const boost::json::object&) {
      return fmt::format("the catalog of {} is in {}\n", printable(id), printable(backend));
    });
  }
};

struct KbDeleteCommand final : ControlCommand {
  std::string id;
  bool yes = false;

  ExitCode run(CommandContext& context) override {
    if (!yes) {
      return report_usage(
          context, make_error(Code::kBadRequest,
                              "this takes every stream of " + printable(id) +
                                  " out of use; its folder is kept. Add --yes if you mean it."));
    }
    const std::string name = http::percent_encode(id);
    const auto response = ask_for_success(
        context, connection,
        {.method = "DELETE", .target = "/knowledgebase/" + name + "?confirm=" + name});
    if (!response) return response.error();
    return print_answer(context, *this, *response, [this](const boost::json::object& answer) {
      return fmt::format(
          "deleted knowledgebase {}\nits folder is kept, below the server's data folder: {}\n",
          printable(id), printable(text_member(answer, "moved_to")));
    });
  }
};

}  // namespace

void add_kb_commands(CLI::App& app, CommandContext& context) {
  CLI::App* group = app.add_subcommand("kb", "Make, look at, move and delete knowledgebases");
  group->require_subcommand(1);
  group->footer("Example:\n  strata kb list");

  const auto [create, made] = add_command<KbCreateCommand>(
      *group, context, "create", "Make a knowledgebase", "strata kb create demo");
  create->add_option("ID", made->id, "its name: [a-z0-9][a-z0-9_-]*, at most 63")->required();
  create->add_option("--backend", made->backend, "file (the default) or postgres")
      ->check(CLI::IsMember({"file", "postgres"}));
  add_control_options(*create, *made);

  const auto [list, listed] =
      add_command<KbListCommand>(*group, context, "list", "List knowledgebases", "strata kb list");
  add_control_options(*list, *listed);

  const auto [show, shown] = add_command<KbShowCommand>(
      *group, context, "show", "Show a knowledgebase", "strata kb show demo");
  show->add_option("ID", shown->id, "the knowledgebase")->required();
  add_control_options(*show, *shown);

  const auto [migrate, migrated] = add_command<KbMigrateCommand>(
      *group, context, "migrate", "Move a knowledgebase's catalog to PostgreSQL; batches go on",
      "strata kb migrate demo --backend postgres");
  migrate->add_option("ID", migrated->id, "the knowledgebase")->required();
  migrate->add_option("--backend", migrated->backend, "where to: postgres")
      ->required()
      ->check(CLI::IsMember({"postgres"}));
  add_control_options(*migrate, *migrated);

  const auto [remove, removed] = add_command<KbDeleteCommand>(
      *group, context, "delete", "Move a knowledgebase aside, with all of its streams",
      "strata kb delete demo --yes");
  remove->add_option("ID", removed->id, "the knowledgebase")->required();
  remove->add_flag("--yes", removed->yes, "do it");
  add_control_options(*remove, *removed);
}

}  // namespace strata::cli
