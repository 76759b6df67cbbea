#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "cli/control.h"

namespace strata::cli {

/// `/knowledgebase/{kb}/strata/receivers/{stream}<rest>`.
std::string of_receiver(const std::string& kb, const std::string& stream, const std::string& rest);

/// A list of a receiver's that the server answers page by page.
struct StreamPages {
  std::string kb;
  std::string stream;
  std::uint32_t limit = 50;
  std::string before;
};

void add_page_options(CLI::App& command, StreamPages& fields);

/// Asks for one page below `rest` and shows these members of it; how to see the next page is told
/// on `context.err`.
ExitCode list_page(CommandContext& context, const ControlCommand& command, const StreamPages& pages,
                   const std::string& rest, std::initializer_list<std::string_view> members);

}  // namespace strata::cli
