#include "duck/sql.h"

#include <string>

#include "base/check.h"

namespace strata::duck {
namespace {

/// The parser reads SQL as C text: what follows a NUL would be dropped without an error.
void check_no_nul(std::string_view text) {
  STRATA_CHECK(text.find('\0') == std::string_view::npos);
}

void append_quoted(std::string& out, std::string_view text, char quote) {
  check_no_nul(text);
  out += quote;
  for (const char character : text) {
    if (character == quote) out += quote;
    out += character;
  }
  out += quote;
}

}  // namespace

Sql& Sql::raw(Text text) {
  text_ += text.text;
  return *this;
}

Sql& Sql::ident(std::string_view name) {
  // DuckDB has no zero-length identifier; an empty name would be a syntax error far from its cause.
  STRATA_CHECK(!name.empty());
  append_quoted(text_, name, '"');
  return *this;
}

Sql& Sql::literal(std::string_view text) {
  append_quoted(text_, text, '\'');
  return *this;
}

Sql& Sql::glob(std::string_view path, Text pattern) {
  std::string escaped;
  for (const char character : path) {
    // Only brackets work: a backslash escapes nothing in a DuckDB glob (duckdb-facts.md D1).
    const bool special = character == '[' || character == '*' || character == '?';
    if (special) escaped += '[';
    escaped += character;
    if (special) escaped += ']';
  }
  escaped += pattern.text;
  return literal(escaped);
}

Sql& Sql::number(std::uint64_t value) {
  text_ += std::to_string(value);
  return *this;
}

Sql& Sql::append(const Sql& other) {
  text_ += other.text_;
  return *this;
}

}  // namespace strata::duck
