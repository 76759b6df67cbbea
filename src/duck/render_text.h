#pragma once

#include <string>
#include <string_view>

/// Text as the formats of an answer spell it. Bytes that are not UTF-8 become U+FFFD, so that an
/// answer is always valid, whatever a file held.
namespace strata::duck {

/// `"text"` with what JSON wants escaped.
void append_json_string(std::string& out, std::string_view text);
/// A field of RFC 4180: quoted where it has to be. Empty text is `""`, because an empty field is
/// NULL.
void append_csv_field(std::string& out, std::string_view text);
void append_base64(std::string& out, std::string_view bytes);

}  // namespace strata::duck
