#include "duck/sql.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace strata::duck {
namespace {

// Text from outside has no way into fixed text: only a literal converts to Sql::Text.
static_assert(!std::is_convertible_v<std::string, Sql::Text>);
static_assert(!std::is_convertible_v<std::string_view, Sql::Text>);
static_assert(!std::is_convertible_v<const char*, Sql::Text>);
static_assert(!std::is_constructible_v<Sql::Text, std::string>);
static_assert(!std::is_constructible_v<Sql::Text, std::string_view>);
static_assert(!std::is_constructible_v<Sql::Text, const char*>);
static_assert(!std::is_constructible_v<Sql, std::string>);

}  // namespace
}  // namespace strata::duck
