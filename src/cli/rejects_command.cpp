#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <ostream>
#include <random>
#include <utility>

#include "base/limits.h"
#include "cli/commands.h"
#include "cli/control.h"
#include "cli/delivery.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/listing.h"
#include "cli/pages.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

struct RejectsListCommand final : ControlCommand {
  StreamPages pages;

  ExitCode run(CommandContext& context) override {
    return list_page(
        context, *this, pages, of_receiver(pages.kb, pages.stream, "/rejects"),
        {"batch_id", "state", "rejected_at", "bytes", "error_count", "line", "column", "reason"});
  }
};

/// Which reject of which receiver.
struct RejectName {
  std::string kb;
  std::string stream;
  std::string id;

  std::string target(const std::string& rest = {}) const {
    return of_receiver(kb, stream, "/rejects/" + http::percent_encode(id) + rest);
  }
};

/// The reasons as `strata send` tells them, under what else there is to say.
std::string render_reject(const boost::json::object& answer) {
  boost::json::object facts = answer;
  facts.erase("errors");
  std::string text = render_object(facts);
  const boost::json::value* errors = answer.if_contains("errors");
  if (errors == nullptr || !errors->is_array()) return text;
  for (const auto& entry : errors->get_array()) {
    if (!entry.is_object()) continue;
    const boost::json::object& error = entry.get_object();
    text += describe(Problem::LineError{.line = count_member(error, "line"),
                                        .column = text_member(error, "column"),
                                        .reason = text_member(error, "reason")});
    text += '\n';
  }
  return text;
}

struct RejectsShowCommand final : ControlCommand {
  RejectName name;

  ExitCode run(CommandContext& context) override {
    const auto response = ask_for_success(context, connection, {.target = name.target()});
    if (!response) return response.error();
    return print_answer(context, *this, *response, render_reject);
  }
};

struct RejectsResendCommand final : Command {
  ConnectionOptions connection;
  RejectName name;
  std::string file;

  ExitCode run(CommandContext& context) override;

 private:
  std::expected<std::string, ExitCode> body(CommandContext& context) const;
  ExitCode report(CommandContext& context, const std::string& url, const Delivery& delivery) const;
};

Result<std::string> read_whole(const std::string& path, std::FILE* in) {
  STRATA_ASSIGN_OR_RETURN(InputFile input, InputFile::open(path, in));
  std::string all;
  while (true) {
    STRATA_ASSIGN_OR_RETURN(const std::string_view piece, input.read());
    if (piece.empty()) return all;
    all += piece;
    if (all.size() > limits::kBodyBytesCeiling) {
      return make_error(
          Code::kBadRequest,
          fmt::format("{} is larger than any batch may be: strata send splits it", input.name()));
    }
  }
}

std::expected<std::string, ExitCode> RejectsResendCommand::body(CommandContext& context) const {
  if (file.empty()) {
    auto kept = ask_for_success(context, connection, {.target = name.target("?body=1")});
    if (!kept) return std::unexpected(kept.error());
    return std::move(kept->body);
  }
  auto mended = read_whole(file, context.in);
  if (!mended) return std::unexpected(report_usage(context, mended.error()));
  return std::move(*mended);
}

ExitCode RejectsResendCommand::report(CommandContext& context, const std::string& url,
                                      const Delivery& delivery) const {
  switch (delivery.kind) {
    case Delivery::Kind::kLanded:
      *context.out << fmt::format("{} landed as batch {}\n", counted(delivery.rows, "row"),
                                  printable(name.id));
      return ExitCode::kDone;
    case Delivery::Kind::kReplayed:
      *context.out << fmt::format("nothing to do: batch {} had landed ({})\n", printable(name.id),
                                  counted(delivery.rows, "row"));
      return ExitCode::kDone;
    case Delivery::Kind::kRefused:
    case Delivery::Kind::kGaveUp:
    case Delivery::Kind::kCancelled:
      break;
  }
  if (delivery.response) return report_refused(context, *delivery.response);
  return report_out_of_reach(context, url, delivery.error);
}

ExitCode RejectsResendCommand::run(CommandContext& context) {
  const auto endpoint = resolve_endpoint(context, connection);
  if (!endpoint) return report_usage(context, endpoint.error());
  auto records = body(context);
  if (!records) return records.error();
  auto client = context.connect(endpoint->url, kAnswerTimeout);
  if (!client) return report_usage(context, client.error());
  http::ClientRequest request{
      .method = "POST",
      .target = strata_path(name.kb, "/ingest/" + http::percent_encode(name.stream)),
      .headers = endpoint->identity,
      .body = std::move(*records)};
  request.headers.emplace_back("Content-Type", "application/x-ndjson");
  request.headers.emplace_back("Idempotency-Key", name.id);

  std::minstd_rand random{std::random_device{}()};
  std::uniform_real_distribution<double> chance(0.0, 1.0);
  const std::atomic<bool> never_cancelled = false;
  const Courier::Hooks hooks{
      .sleep = context.sleep,
      .chance = [&random, &chance] { return chance(random); },
      .on_retry =
          [&context](const std::string& reason) {
            complain(context, "trying again with the same id: " + printable_lines(reason));
          }};
  return report(context, endpoint->url,
                Courier(**client, RetryPolicy{}, hooks, never_cancelled).deliver(request));
}

void add_name(CLI::App& command, RejectName& name) {
  command.add_option("KB", name.kb, "the knowledgebase")->required();
  command.add_option("STREAM", name.stream, "the receiver")->required();
  command.add_option("ID", name.id, "the batch id, or the one made up for a batch without one")
      ->required();
}

}  // namespace

void add_rejects_commands(CLI::App& app, CommandContext& context) {
  CLI::App* group = app.add_subcommand("rejects", "Look at refused batches and send them again");
  group->require_subcommand(1);
  group->footer("Example:\n  strata rejects list demo weather");

  const auto [list, listed] = add_command<RejectsListCommand>(
      *group, context, "list", "List the newest refused batches of a receiver",
      "strata rejects list demo weather");
  add_stream_page_options(*list, listed->pages);
  add_control_options(*list, *listed);

  const auto [show, shown] = add_command<RejectsShowCommand>(
      *group, context, "show", "Show why a batch was refused, line by line",
      "strata rejects show demo weather 9a3c1f7be2d04c58-000000");
  add_name(*show, shown->name);
  add_control_options(*show, *shown);

  const auto [resend, resent] = add_command<RejectsResendCommand>(
      *group, context, "resend", "Send a refused batch again under the same id",
      "strata rejects resend demo weather 9a3c1f7be2d04c58-000000 mended.ndjson");
  add_name(*resend, resent->name);
  resend
      ->add_option("FILE", resent->file,
                   "the mended records as NDJSON, - for standard input; nothing: the body as it "
                   "was kept, for when the receiver was changed instead")
      ->type_name("PATH");
  add_connection_options(*resend, resent->connection);
}

}  // namespace strata::cli
