#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/control.h"
#include "cli/json.h"
#include "cli/pages.h"
#include "cli/text.h"

namespace strata::cli {
namespace {

namespace json = boost::json;

/// After so long a server knows what others counted and what ended processes left.
constexpr std::chrono::seconds kNumbersPause{7};
/// Where nothing is left to be looked at: asks for the numbers alone.
constexpr std::string_view kPastTheEnd = "ids/~";

struct Count {
  std::uint64_t files = 0;
  std::uint64_t rows = 0;
  bool operator==(const Count&) const = default;
  std::string text() const { return counted(files, "batch") + " and " + counted(rows, "row"); }
};

Count count_of(const json::object& object) {
  return {count_member(object, "files"), count_member(object, "rows")};
}

Count numbers_of(const json::object& page) {
  const json::value* numbers = page.if_contains("numbers");
  return numbers == nullptr || !numbers->is_object() ? Count{} : count_of(numbers->get_object());
}

struct VerifyCommand final : ControlCommand {
  std::string kb;
  std::string stream;
  bool quarantine = false;

  ExitCode run(CommandContext& context) override {
    const auto streams = names(context);
    if (!streams) return streams.error();
    for (const std::string& name : *streams) {
      if (const auto verified = verify(context, name); !verified) return verified.error();
    }
    if (problems_ == 0) return ExitCode::kDone;
    if (!quarantine && !json && movable_ > 0) {
      complain(context, fmt::format("moves what is damaged or foreign out of the way of queries: "
                                    "strata verify {} --quarantine",
                                    printable(stream.empty() ? kb : kb + " " + stream)));
    }
    return ExitCode::kRefused;
  }

 private:
  using Page = std::expected<json::object, ExitCode>;

  std::expected<std::vector<std::string>, ExitCode> names(CommandContext& context) {
    if (!stream.empty()) return std::vector{stream};
    const auto response =
        ask_for_success(context, connection, {.target = strata_path(kb, "/receivers")});
    if (!response) return std::unexpected(response.error());
    std::vector<std::string> streams;
    const auto answer = parse_object(response->body);
    const json::value* list = answer ? answer->if_contains("receivers") : nullptr;
    if (list == nullptr || !list->is_array()) {
      complain(context, "the server's list of receivers cannot be read");
      return std::unexpected(ExitCode::kRefused);
    }
    for (const json::value& receiver : list->get_array()) {
      if (receiver.is_object()) streams.push_back(text_member(receiver.get_object(), "stream"));
    }
    return streams;
  }

  Page ask_page(CommandContext& context, const std::string& name, std::string_view after,
                bool move) {
    json::object body{{"quarantine", move}};
    if (!after.empty()) body["after"] = after;
    const auto response = ask_for_success(context, connection,
                                          {.method = "POST",
                                           .target = of_receiver(kb, name, "/verify"),
                                           .body = json::serialize(body)});
    if (!response) return std::unexpected(response.error());
    auto page = parse_object(response->body);
    if (page) return std::move(*page);
    complain(context, page.error().message);
    return std::unexpected(ExitCode::kRefused);
  }

  /// One stream, page by page.
  std::expected<void, ExitCode> verify(CommandContext& context, const std::string& name) {
    Count seen;
    std::optional<Count> first;
    std::uint64_t finished = 0;
    const std::uint64_t problems_before = problems_;
    std::string after;
    do {
      const Page page = ask_page(context, name, after, quarantine);
      if (!page) return std::unexpected(page.error());
      show(context, name, *page);
      const Count count = count_of(*page);
      seen.files += count.files;
      seen.rows += count.rows;
      finished += count_member(*page, "finished");
      if (!first) first = numbers_of(*page);
      after = text_member(*page, "next");
    } while (!after.empty());
    // A file that cannot be read is not counted; and with quarantine the server has just counted.
    if (!quarantine && problems_ == problems_before) {
      const auto compared = compare(context, name, seen, *first);
      if (!compared) return compared;
    }
    if (json) return {};
    std::string line = fmt::format("{}: {} looked at", printable(name), seen.text());
    if (finished > 0)
      line += fmt::format(", {} finished from its claim", counted(finished, "batch"));
    const std::uint64_t found = problems_ - problems_before;
    *context.out << line << (found == 0 ? ", no problem" : ", " + counted(found, "problem")) << '\n'
                 << std::flush;
    return {};
  }

  void show(CommandContext& context, const std::string& name, const json::object& page) {
    if (json) *context.out << json::serialize(page) << '\n' << std::flush;
    const json::value* problems = page.if_contains("problems");
    if (problems != nullptr && problems->is_array()) {
      for (const json::value& problem : problems->get_array()) {
        if (problem.is_object()) show_problem(context, name, problem.get_object());
      }
    }
    const json::value* leftovers = page.if_contains("leftovers");
    if (json || leftovers == nullptr || !leftovers->is_array()) return;
    for (const json::value& leftover : leftovers->get_array()) {
      *context.out << fmt::format(
          "{}/{}: left by a process that ended; the server takes it over within seconds\n",
          printable(name), display(leftover));
    }
  }

  void show_problem(CommandContext& context, const std::string& name, const json::object& problem) {
    ++problems_;
    const std::string kind = text_member(problem, "kind");
    if (kind != "receiver" && kind != "unreadable") ++movable_;
    if (json) return;
    const std::string done = text_member(problem, "done");
    const std::string failed = text_member(problem, "failed");
    *context.out << fmt::format("{}/{}: {}: {}{}{}\n", printable(name),
                                printable(text_member(problem, "path")), printable(kind),
                                printable(text_member(problem, "reason")),
                                done.empty() ? "" : "; " + printable(done),
                                failed.empty() ? "" : "; not moved: " + printable(failed));
  }

  /// The receiver's numbers are kept while batches land, not counted: told where they differ. That
  /// is a problem only if nothing landed between the first page and well after the last.
  std::expected<void, ExitCode> compare(CommandContext& context, const std::string& name,
                                        const Count& seen, const Count& first) {
    if (first == seen) return {};
    context.sleep(kNumbersPause);
    const Page last = ask_page(context, name, kPastTheEnd, false);
    if (!last) return std::unexpected(last.error());
    const Count now = numbers_of(*last);
    if (now == seen) return {};
    const bool still = now == first;
    if (still) ++problems_;
    if (json) return {};
    *context.out << fmt::format("{}: the receiver's numbers say {}, there are {}{}\n",
                                printable(name), now.text(), seen.text(),
                                still ? "" : " (batches are landing)");
    return {};
  }

  std::uint64_t problems_ = 0;
  std::uint64_t movable_ = 0;
};

}  // namespace

void add_verify_command(CLI::App& app, CommandContext& context) {
  const auto [verify, fields] = add_command<VerifyCommand>(
      app, context, "verify", "Look through every file that landed; exit code 1 if any is bad",
      "strata verify demo\n  strata verify demo weather --quarantine");
  verify->add_option("KB", fields->kb, "the knowledgebase")->required();
  verify->add_option("STREAM", fields->stream, "one receiver (all of them)");
  verify->add_flag("--quarantine", fields->quarantine,
                   "move what is damaged or foreign into the stream's quarantine/");
  add_control_options(*verify, *fields);
}

}  // namespace strata::cli
