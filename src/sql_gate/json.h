#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <optional>
#include <string_view>

/// Reading a tree whose form nobody vouches for.
namespace strata::sql_gate {

/// Empty if there is no such member, or it is no text.
std::string_view text_of(const boost::json::object& node, std::string_view member);
/// Null if there is no such member, or it is no object.
const boost::json::object* object_of(const boost::json::object& node, std::string_view member);
/// Where in its text the node stands; some stand nowhere.
std::optional<std::size_t> place_of(const boost::json::object& node);

}  // namespace strata::sql_gate
