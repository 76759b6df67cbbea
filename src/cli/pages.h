#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "cli/control.h"

namespace strata::cli {

/// `/knowledgebase/{kb}/strata/receivers/{stream}<rest>`.
std::string of_receiver(const std::string& kb, const std::string& stream, const std::string& rest);

/// Which page of a list that the server answers page by page.
struct Pages {
  std::uint32_t limit = 50;
  std::string before;
};

void add_page_options(CLI::App& command, Pages& fields);

/// The same of a receiver's list, with the receiver.
struct StreamPages : Pages {
  std::string kb;
  std::string stream;
};

void add_stream_page_options(CLI::App& command, StreamPages& fields);

/// Asks for one page of the list at `path` and shows these members of it; how to see the next page
/// is told on `context.err`.
ExitCode list_page(CommandContext& context, const ControlCommand& command, const Pages& pages,
                   const std::string& path, std::initializer_list<std::string_view> members);

}  // namespace strata::cli
