#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strata::duck {

/// SQL text in the making. Fixed text must be a string literal (checked at compile time);
/// everything else enters quoted, so text from outside cannot become syntax. Values are bound
/// where DuckDB allows it; where it does not (COPY, ATTACH, SET, CREATE VIEW) they come through
/// here. A NUL in an argument is a broken invariant: callers refuse it as input long before.
class Sql {
 public:
  /// A compile-time literal.
  struct Text {
    template <std::size_t N>
    consteval Text(const char (&literal)[N]) : text(literal, N - 1) {}  // NOLINT: implicit
    std::string_view text;
  };

  Sql() = default;
  explicit Sql(Text text) : text_(text.text) {}

  Sql& raw(Text text);
  /// `"name"` with `"` doubled.
  Sql& ident(std::string_view name);
  /// `'text'` with `'` doubled.
  Sql& literal(std::string_view text);
  /// A literal path inside a glob pattern: `[ * ?` become `[[] [*] [?]`, then quoted together with
  /// `pattern`, which is kept as it is.
  Sql& glob(std::string_view path, Text pattern);
  Sql& number(std::uint64_t value);
  Sql& append(const Sql& other);

  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

}  // namespace strata::duck
