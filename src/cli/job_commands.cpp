#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>

#include "cli/commands.h"
#include "cli/control.h"
#include "cli/job_watch.h"
#include "cli/json.h"
#include "cli/listing.h"
#include "cli/pages.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

struct JobListCommand final : ControlCommand {
  std::string kb;
  Pages pages;

  ExitCode run(CommandContext& context) override {
    return list_page(context, *this, pages, strata_path(kb, "/jobs"),
                     {"job", "kind", "stream", "state", "step", "progress", "created_at", "node"});
  }
};

/// Which job of which kb.
struct JobName {
  std::string kb;
  std::string job;

  std::string target() const { return of_job(kb, job); }
};

void add_name(CLI::App& command, JobName& name) {
  command.add_option("KB", name.kb, "the knowledgebase")->required();
  command.add_option("JOB", name.job, "the job, as the list names it")->required();
}

struct JobShowCommand final : ControlCommand {
  JobName name;
  bool wait = false;

  ExitCode run(CommandContext& context) override {
    if (!wait) {
      const auto response = ask_for_success(context, connection, {.target = name.target()});
      if (!response) return response.error();
      return print_answer(context, *this, *response, render_object);
    }
    return watch_job(context, *this, name.target(), render_object);
  }
};

struct JobCancelCommand final : ControlCommand {
  JobName name;

  ExitCode run(CommandContext& context) override {
    const auto response =
        ask_for_success(context, connection, {.method = "DELETE", .target = name.target()});
    if (!response) return response.error();
    return print_answer(context, *this, *response, [this](const boost::json::object& answer) {
      return fmt::format("asked job {} to stop; it is {}\n", printable(name.job),
                         printable(text_member(answer, "state")));
    });
  }
};

}  // namespace

void add_job_commands(CLI::App& app, CommandContext& context) {
  CLI::App* group = app.add_subcommand("job", "Look at and stop work that takes long");
  group->require_subcommand(1);
  group->footer("Example:\n  strata job list demo");

  const auto [list, listed] = add_command<JobListCommand>(
      *group, context, "list", "List the newest jobs", "strata job list demo --limit 20");
  list->add_option("KB", listed->kb, "the knowledgebase")->required();
  add_page_options(*list, listed->pages);
  add_control_options(*list, *listed);

  const auto [show, shown] = add_command<JobShowCommand>(
      *group, context, "show", "Show one job",
      "strata job show demo 0197b1c2-7c3e-7a60-9f5e-3c1d2b4a5e6f --wait");
  add_name(*show, shown->name);
  show->add_flag("--wait", shown->wait, "until it has ended; exit code 1 if it is not done then");
  add_control_options(*show, *shown);

  const auto [cancel, cancelled] =
      add_command<JobCancelCommand>(*group, context, "cancel", "Ask a job to stop",
                                    "strata job cancel demo 0197b1c2-7c3e-7a60-9f5e-3c1d2b4a5e6f");
  add_name(*cancel, cancelled->name);
  add_control_options(*cancel, *cancelled);
}

}  // namespace strata::cli
