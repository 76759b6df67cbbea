#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <ostream>

#include "base/limits.h"
#include "cli/commands.h"
#include "cli/control.h"
#include "cli/json.h"
#include "cli/listing.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

std::string receivers_path(const std::string& kb) { return strata_path(kb, "/receivers"); }

std::string receiver_path(const std::string& kb, const std::string& stream) {
  return receivers_path(kb) + "/" + http::percent_encode(stream);
}

struct ReceiverCreateCommand final : ControlCommand {
  std::string kb;
  std::string stream;
  std::vector<std::string> columns;
  std::string partition;
  std::uint64_t max_body_bytes = 0;  // 0: the server's default

  ExitCode run(CommandContext& context) override {
    boost::json::object body{{"stream", stream}};
    if (!columns.empty()) body["columns"] = boost::json::array(columns.begin(), columns.end());
    if (!partition.empty()) body["partition"] = partition;
    if (max_body_bytes > 0) body["max_body_bytes"] = max_body_bytes;
    const auto response = ask_for_success(
        context, connection,
        {.method = "POST", .target = receivers_path(kb), .body = boost::json::serialize(body)});
    if (!response) return response.error();
    return print_answer(context, *this, *response, [this, &response](const boost::json::object&) {
      const std::string_view done =
          response->status == 201 ? "made" : "nothing to do: there is such a";
      return fmt::format("{0} receiver {2}\nsend to it: strata send {1} {2} FILE\n", done,
                         printable(kb), printable(stream));
    });
  }
};

struct ReceiverListCommand final : ControlCommand {
  std::string kb;

  ExitCode run(CommandContext& context) override {
    const auto response = ask_for_success(context, connection, {.target = receivers_path(kb)});
    if (!response) return response.error();
    return print_answer(context, *this, *response, [](const boost::json::object& answer) {
      return render_list(
          answer, {"stream", "rows", "files", "bytes", "rejected", "last_landed", "view.state"});
    });
  }
};

struct ReceiverShowCommand final : ControlCommand {
  std::string kb;
  std::string stream;

  ExitCode run(CommandContext& context) override {
    const auto response =
        ask_for_success(context, connection, {.target = receiver_path(kb, stream)});
    if (!response) return response.error();
    return print_answer(context, *this, *response, render_object);
  }
};

struct ReceiverSetCommand final : ControlCommand {
  std::string kb;
  std::string stream;
  std::vector<std::string> columns;
  bool any_columns = false;
  std::string partition;
  std::uint64_t max_body_bytes = 0;  // 0: as it is

  ExitCode run(CommandContext& context) override {
    boost::json::object body;
    if (!columns.empty()) body["columns"] = boost::json::array(columns.begin(), columns.end());
    if (any_columns) body["columns"] = nullptr;
    if (!partition.empty()) body["partition"] = partition;
    if (max_body_bytes > 0) body["max_body_bytes"] = max_body_bytes;
    if (body.empty()) {
      return report_usage(context,
                          make_error(Code::kBadRequest,
                                     "say what to change: --columns, --any-columns, --partition or "
                                     "--max-body."));
    }
    const auto response = ask_for_success(context, connection,
                                          {.method = "PATCH",
                                           .target = receiver_path(kb, stream),
                                           .body = boost::json::serialize(body)});
    if (!response) return response.error();
    return print_answer(context, *this, *response, render_object);
  }
};

struct ReceiverDeleteCommand final : ControlCommand {
  std::string kb;
  std::string stream;
  bool yes = false;

  ExitCode run(CommandContext& context) override {
    if (!yes) {
      return report_usage(
          context,
          make_error(Code::kBadRequest, "this takes the stream " + printable(stream) +
                                            " and its rows out of use; its folder is kept. Add "
                                            "--yes if you mean it."));
    }
    const auto response = ask_for_success(
        context, connection, {.method = "DELETE", .target = receiver_path(kb, stream)});
    if (!response) return response.error();
    return print_answer(context, *this, *response, [this](const boost::json::object& answer) {
      return fmt::format("deleted stream {}\nits folder is kept, below the knowledgebase's: {}\n",
                         printable(stream), printable(text_member(answer, "moved_to")));
    });
  }
};

struct ReceiverResyncCommand final : ControlCommand {
  std::string kb;
  std::string stream;

  ExitCode run(CommandContext& context) override {
    const auto response = ask_for_success(
        context, connection, {.method = "POST", .target = receiver_path(kb, stream) + "/resync"});
    if (!response) return response.error();
    const ExitCode code = print_answer(context, *this, *response, render_object);
    const auto answer = parse_object(response->body);
    const auto* state = answer ? find_path(*answer, "view.state") : nullptr;
    if (state == nullptr || display(*state) != "error") return code;
    complain(context, fmt::format("the view of {} could not be made", printable(stream)));
    return ExitCode::kRefused;
  }
};

template <typename C>
void add_options(CLI::App& command, C& fields) {
  command.add_option("KB", fields.kb, "the knowledgebase")->required();
  if constexpr (requires { fields.stream; }) {
    command.add_option("STREAM", fields.stream, "the receiver")->required();
  }
  add_control_options(command, fields);
}

}  // namespace

void add_receiver_commands(CLI::App& app, CommandContext& context) {
  CLI::App* group = app.add_subcommand("receiver", "Make, look at, change and delete receivers");
  group->require_subcommand(1);
  group->footer("Example:\n  strata receiver list demo");

  const auto [create, made] = add_command<ReceiverCreateCommand>(
      *group, context, "create", "Make a receiver", "strata receiver create demo weather");
  add_options(*create, *made);
  create->add_option("--columns", made->columns, "the only columns it takes, in this order")
      ->delimiter(',')
      ->allow_extra_args(false)  // KB and STREAM may come after it
      ->type_name("A,B,C");
  create->add_option("--partition", made->partition, "none (the default), day or hour")
      ->check(CLI::IsMember({"none", "day", "hour"}));
  create->add_option("--max-body", made->max_body_bytes, "largest batch (1,048,576)")
      ->check(CLI::Range(std::uint64_t{1}, limits::kBodyBytesCeiling))
      ->type_name("BYTES");

  const auto [list, listed] = add_command<ReceiverListCommand>(
      *group, context, "list", "List the receivers of a knowledgebase",
      "strata receiver list demo");
  add_options(*list, *listed);

  const auto [show, shown] =
      add_command<ReceiverShowCommand>(*group, context, "show", "Show a receiver and its numbers",
                                       "strata receiver show demo weather");
  add_options(*show, *shown);

  const auto [set, changed] =
      add_command<ReceiverSetCommand>(*group, context, "set", "Change a receiver's settings",
                                      "strata receiver set demo weather --max-body 4194304");
  add_options(*set, *changed);
  CLI::Option* columns =
      set->add_option("--columns", changed->columns,
                      "the only columns it takes from now on; those that hold values have to stay")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("A,B,C");
  set->add_flag("--any-columns", changed->any_columns, "take any column from now on")
      ->excludes(columns);
  set->add_option("--partition", changed->partition, "none, day or hour")
      ->check(CLI::IsMember({"none", "day", "hour"}));
  set->add_option("--max-body", changed->max_body_bytes, "largest batch")
      ->check(CLI::Range(std::uint64_t{1}, limits::kBodyBytesCeiling))
      ->type_name("BYTES");

  const auto [remove, removed] = add_command<ReceiverDeleteCommand>(
      *group, context, "delete", "Move a stream aside, with all that landed in it",
      "strata receiver delete demo weather --yes");
  add_options(*remove, *removed);
  remove->add_flag("--yes", removed->yes, "do it");

  const auto [resync, resynced] = add_command<ReceiverResyncCommand>(
      *group, context, "resync", "Make a receiver's view again where it is missing",
      "strata receiver resync demo weather");
  add_options(*resync, *resynced);
}

}  // namespace strata::cli
