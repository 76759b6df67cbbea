#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

/// Reading what a server answers: nothing here trusts its shape.
namespace strata::cli {

/// kInternal: not one JSON object.
Result<boost::json::object> parse_object(std::string_view body);

/// The member as text when it is a string, else empty.
std::string text_member(const boost::json::object& object, std::string_view key);

/// The member when it is an integer that is not negative, else 0.
std::uint64_t count_member(const boost::json::object& object, std::string_view key);

/// `key` or `key.inner`; null when there is no such member.
const boost::json::value* find_path(const boost::json::object& object, std::string_view path);

/// A value for a person to read: strings as they are, null as `-`, a list of scalars `a, b`, other
/// things as JSON; safe for a terminal.
std::string display(const boost::json::value& value);

}  // namespace strata::cli
