#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strata::ndjson {

/// Whether every byte is below 0x80.
bool is_ascii(std::string_view text);

/// The first byte of the first sequence that is not UTF-8 (RFC 3629: no overlong form, no
/// surrogate, nothing above U+10FFFF); null when all of `text` is.
const char* find_invalid_utf8(std::string_view text);

/// The position of the first control character (U+0000 to U+001F, U+007F to U+009F) of a valid
/// UTF-8 text; npos where there is none.
std::size_t find_control_character(std::string_view text);

/// `code_point` as UTF-8 at the end of `out`.
void append_utf8(std::uint32_t code_point, std::string& out);

/// A piece of valid UTF-8 in single quotes, fit for a message: cut after at most `bytes_max` bytes
/// (between characters, with an ellipsis), control and invisible characters as \u escapes.
std::string shown(std::string_view text, std::size_t bytes_max = 40);

}  // namespace strata::ndjson
