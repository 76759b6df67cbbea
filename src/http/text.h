#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

/// The small grammars that requests are made of. Pure functions; bytes in, verdict out.
namespace strata::http {

bool equals_ignoring_case(std::string_view a, std::string_view b);
/// RFC 9110 5.6.2: a method, a field name.
bool is_token(std::string_view text);
/// RFC 9110 5.5: no control character but the tab; bytes from 0x80 on are opaque.
bool is_field_value(std::string_view text);
/// RFC 9110 7.2: `host`, `host:port`, `[v6]:port`; never empty, never with user information.
bool is_authority(std::string_view text);
bool is_utf8(std::string_view text);
/// Without the spaces and tabs around it.
std::string_view trim(std::string_view text);

/// Takes the first part of `rest`, up to `separator` or the end, and the separator off it.
std::string_view take_until(std::string_view& rest, char separator);

enum class Plus : bool { kLiteral, kSpace };

/// Decoded once. kBadRequest: a broken escape, a NUL, or bytes that are no UTF-8.
Result<std::string> percent_decode(std::string_view text, Plus plus);

}  // namespace strata::http
