#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>

#include "base/error.h"

namespace strata {

/// So that a failing comparison shows the code's name.
inline void PrintTo(Code code, std::ostream* out) { *out << code_name(code); }

namespace io {

template <typename T>
std::string describe(const Result<T>& result) {
  if (result) return "ok";
  const Error& error = result.error();
  return std::string(code_name(error.code)) + ": " + error.message + " [" + error.detail + "]";
}

template <typename T>
::testing::AssertionResult is_ok(const Result<T>& result) {
  if (result) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << describe(result);
}

template <typename T>
::testing::AssertionResult has_code(const Result<T>& result, Code code) {
  if (!result && result.error().code == code) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << describe(result) << ", expected " << code_name(code);
}

}  // namespace io
}  // namespace strata

#define EXPECT_OK(expression) EXPECT_TRUE(::strata::io::is_ok(expression))
#define ASSERT_OK(expression) ASSERT_TRUE(::strata::io::is_ok(expression))
#define EXPECT_CODE(code, expression) EXPECT_TRUE(::strata::io::has_code(expression, code))

/// `ASSERT_OK_AND_ASSIGN(const auto folder, fs.open_directory(path));`
#define ASSERT_OK_AND_ASSIGN(declaration, expression) \
  ASSERT_OK_AND_ASSIGN_INNER(STRATA_CONCAT(strata_result_, __LINE__), declaration, expression)
#define ASSERT_OK_AND_ASSIGN_INNER(name, declaration, expression) \
  auto name = (expression);                                       \
  ASSERT_OK(name);                                                \
  declaration = std::move(name).value()
