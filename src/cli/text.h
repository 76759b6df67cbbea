#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Text that came from a server or a producer, on its way to a terminal.
namespace strata::cli {

/// `text` with everything that could move the cursor, colour the screen or turn the reading
/// direction spelled out (`\n`, `\x1b`, `\u202e`), and bytes that are not UTF-8 as `\xff`.
std::string printable(std::string_view text);

/// The same for text of several lines: they stay lines, all but the first indented, so that none
/// can pass for one of ours.
std::string printable_lines(std::string_view text);

/// How many columns of a terminal printable text takes: wide East Asian characters and emoji two,
/// combining marks none.
std::size_t display_width(std::string_view text);

/// Printable text cut to at most `columns_max` columns, the last of them `…` when anything went.
std::string cut_to_width(std::string_view text, std::size_t columns_max);

/// Appends `text` as a JSON string: `"` and `\` and control characters escaped (the short escapes
/// where JSON has one, else \u00xx in lower case), every other byte as it is. Fixed for ever:
/// where `strata send` cuts a CSV file depends on it.
void append_json_string(std::string& out, std::string_view text);

/// `1 row`, `2 rows`, `12,345 batches`.
std::string counted(std::uint64_t count, std::string_view noun);

}  // namespace strata::cli
