#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>

#include "cli/commands.h"
#include "cli/control.h"
#include "cli/listing.h"
#include "cli/pages.h"

namespace strata::cli {
namespace {

struct BatchListCommand final : ControlCommand {
  StreamPages pages;

  ExitCode run(CommandContext& context) override {
    return list_page(context, *this, pages, of_receiver(pages.kb, pages.stream, "/batches"),
                     {"batch_id", "rows", "columns", "bytes", "arrived_at", "where"});
  }
};

struct BatchShowCommand final : ControlCommand {
  std::string kb;
  std::string stream;
  std::string batch;

  ExitCode run(CommandContext& context) override {
    const auto response = ask_for_success(
        context, connection,
        {.target = of_receiver(kb, stream, "/batches/" + http::percent_encode(batch))});
    if (!response) return response.error();
    return print_answer(context, *this, *response, render_object);
  }
};

}  // namespace

void add_batch_commands(CLI::App& app, CommandContext& context) {
  CLI::App* group = app.add_subcommand("batch", "Look at what has landed");
  group->require_subcommand(1);
  group->footer("Example:\n  strata batch list demo weather");

  const auto [list, listed] = add_command<BatchListCommand>(
      *group, context, "list", "List the newest batches of a receiver",
      "strata batch list demo weather --limit 20");
  add_stream_page_options(*list, listed->pages);
  add_control_options(*list, *listed);

  const auto [show, shown] = add_command<BatchShowCommand>(
      *group, context, "show", "Show one batch and where its rows are now",
      "strata batch show demo weather 9a3c1f7be2d04c58-000000");
  show->add_option("KB", shown->kb, "the knowledgebase")->required();
  show->add_option("STREAM", shown->stream, "the receiver")->required();
  show->add_option("BATCH", shown->batch, "the batch id")->required();
  add_control_options(*show, *shown);
}

}  // namespace strata::cli
