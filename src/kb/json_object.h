#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Reading and writing the small JSON files of this folder; private to it.
namespace strata::kb {

/// Nothing larger is one of them.
inline constexpr std::uint64_t kSmallFileBytesMax = 64ULL * 1024;

/// Nothing where `bytes` are not one JSON object.
std::optional<boost::json::object> parse_object(std::string_view bytes);
/// Nothing where `key` is missing or of another kind.
std::optional<std::string> text_at(const boost::json::object& object, std::string_view key);
std::optional<std::uint64_t> number_at(const boost::json::object& object, std::string_view key);
/// One line, with its newline.
std::string render(const boost::json::object& object);

}  // namespace strata::kb
