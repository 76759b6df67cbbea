#pragma once

#include <string>
#include <string_view>

#include "io/file_system.h"

/// errno to the port's codes, in one place, so that the real disk and its doubles answer alike.
/// Private to io/ and its test doubles.
namespace strata::io {

/// `operation` and the path go into `detail` only.
Error failed(int error_number, std::string_view operation, std::string_view path);
Error failed(int error_number, std::string_view operation, Entry entry);
Error failed(int error_number, std::string_view operation, Entry from, Entry to);

/// kIo for anything that is not one name: empty, `.`, `..`, or with a slash or NUL in it. Names can
/// come out of a file's metadata, so a bad one is an error and not a broken invariant.
Result<void> check_name(std::string_view operation, Entry entry);

/// `directory` + `/` + `name`.
std::string join_path(std::string_view directory, std::string_view name);

}  // namespace strata::io
