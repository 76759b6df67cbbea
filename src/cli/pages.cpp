#include "cli/pages.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>

#include "cli/json.h"
#include "cli/listing.h"
#include "cli/text.h"

namespace strata::cli {

std::string of_receiver(const std::string& kb, const std::string& stream, const std::string& rest) {
  return strata_path(kb, "/receivers/" + http::percent_encode(stream) + rest);
}

void add_page_options(CLI::App& command, Pages& fields) {
  constexpr std::uint32_t kLimitMax = 500;
  command.add_option("--limit", fields.limit, "how many (50)")
      ->check(CLI::Range(1U, kLimitMax))
      ->type_name("N");
  command.add_option("--before", fields.before, "only those older than this one")->type_name("ID");
}

void add_stream_page_options(CLI::App& command, StreamPages& fields) {
  command.add_option("KB", fields.kb, "the knowledgebase")->required();
  command.add_option("STREAM", fields.stream, "the receiver")->required();
  add_page_options(command, fields);
}

ExitCode list_page(CommandContext& context, const ControlCommand& command, const Pages& pages,
                   const std::string& path, std::initializer_list<std::string_view> members) {
  std::string target = fmt::format("{}?limit={}", path, pages.limit);
  if (!pages.before.empty()) target += "&before=" + http::percent_encode(pages.before);
  const auto response = ask_for_success(context, command.connection, {.target = target});
  if (!response) return response.error();
  return print_answer(context, command, *response,
                      [&context, &members](const boost::json::object& answer) {
                        const std::string next = text_member(answer, "next");
                        if (!next.empty()) {
                          complain(context, "there are older ones: --before " + printable(next));
                        }
                        return render_list(answer, members);
                      });
}

}  // namespace strata::cli
