#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "ndjson/duplicate_finder.h"
#include "ndjson/problem.h"
#include "ndjson/text_arena.h"

namespace strata::ndjson {

/// Reads the tokens of one line after the other, strictly (RFC 8259). A `scan_` that answers false
/// has left the reason in fault(), and the line is done with. No recursion: a nested value costs
/// one entry of a fixed array a level. Not thread-safe.
class Scanner {
 public:
  /// Cells point into `body` and `arena`; both outlive the scanner.
  Scanner(std::string_view body, TextArena& arena);

  /// `line` is a piece of the body, valid UTF-8, without a line feed; what follows it in the body,
  /// if anything, is a line feed or CR LF.
  void start(std::string_view line);

  bool at_end() const { return at_ == end_; }
  const char* position() const { return at_; }
  /// A line feed, which no line has, stands for the end.
  char peek() const { return at_ == end_ ? '\n' : *at_; }
  void advance() { ++at_; }
  void skip_space() {
    while (at_ != end_ && is_space(*at_)) ++at_;
  }

  /// Takes exactly these bytes if they come next.
  bool take(std::string_view bytes);
  /// A key with the colon after it, unescaped; it stays valid until the next key.
  [[nodiscard]] bool scan_key(std::string_view& key);
  [[nodiscard]] bool scan_colon();
  /// Any value as its cell: strings unescaped, numbers, true and false as they are written, objects
  /// and arrays as compact JSON, null as nothing.
  [[nodiscard]] bool scan_value(std::optional<std::string_view>& cell);

  /// Always false. `expected` is the problem unless the line ends here.
  bool fail(Problem problem, const char* at, std::string_view key = {});
  bool fail_expecting(Problem expected);
  const Fault& fault() const { return fault_; }

 private:
  struct StringToken {
    std::string_view raw;  // between the quotes
    bool escaped = false;
  };
  /// An array or object that is open.
  struct Level {
    char close = '}';
    std::size_t keys_begin = 0;  // into nested_keys_
  };

  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  [[nodiscard]] bool scan_string(StringToken& token);
  const char* check_escape(const char* backslash, const char* open);
  const char* check_unicode_escape(const char* backslash);
  [[nodiscard]] bool scan_number();
  [[nodiscard]] bool scan_word(std::string_view word);
  [[nodiscard]] bool scan_nested_scalar();
  [[nodiscard]] bool scan_nested_key();
  [[nodiscard]] bool scan_container(std::string_view& text);
  [[nodiscard]] bool open_level();
  [[nodiscard]] bool close_level();
  [[nodiscard]] bool close_levels();
  Level& innermost() { return levels_[open_levels_ - 1]; }
  void drop_space();

  const char* body_end_;
  TextArena& arena_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  Fault fault_;
  std::string key_;  // the last key, where it had escapes

  // The record itself is level 1, so a cell's outermost array or object is level 2.
  std::array<Level, limits::kNestingDepthMax - 1> levels_;
  std::size_t open_levels_ = 0;
  const char* comma_ = nullptr;      // the last one at the innermost level
  const char* run_begin_ = nullptr;  // of the bytes since the last space that was dropped
  std::vector<NestedKey> nested_keys_;
  std::deque<std::string> nested_key_texts_;  // of those that had escapes
  DuplicateFinder duplicates_;
};

}  // namespace strata::ndjson
