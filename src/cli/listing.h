#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace boost::json {
class object;
}

namespace strata::cli {

/// What the server answered about several things, as a table with these members (`key` or
/// `key.inner`); one that nothing has is left out. `answer` is an object with one array.
std::string render_list(const boost::json::object& answer,
                        std::initializer_list<std::string_view> members);

/// One thing, a `member: value` line each; objects inside as `member.inner`.
std::string render_object(const boost::json::object& object);

}  // namespace strata::cli
