#include "ndjson/scanner.h"

#include <bit>
#include <cstring>
#include <span>

#include "ndjson/text.h"

namespace strata::ndjson {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the lowest byte of a word is the first in memory");

constexpr std::uint64_t kEachByte = 0x0101010101010101U;
constexpr std::uint64_t kHighBits = 0x80 * kEachByte;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The high bit of the lowest zero byte, and nothing below it. Bytes above may be false hits.
constexpr std::uint64_t zero_bytes(std::uint64_t word) {
  return (word - kEachByte) & ~word & kHighBits;
}

/// The first quote, backslash or control character from `at` on: what a string must stop for.
const char* find_special(const char* at, const char* end) {
  for (; end - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    const std::uint64_t hits = zero_bytes(word ^ '"' * kEachByte) |
                               zero_bytes(word ^ '\\' * kEachByte) |
                               ((word - 0x20 * kEachByte) & ~word & kHighBits);
    if (hits != 0) return at + std::countr_zero(hits) / 8;
  }
  while (at != end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) ++at;
  return at;
}

/// Four hex digits as a number; nothing where there are not four.
std::optional<std::uint32_t> read_hex4(const char* at, const char* end) {
  if (end - at < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = at[i];
    std::uint32_t digit = 0;
    if (is_digit(c)) {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      digit = static_cast<std::uint32_t>((c | 0x20) - 'a' + 10);
    } else {
      return std::nullopt;
    }
    value = value << 4U | digit;
  }
  return value;
}

bool is_high_surrogate(std::uint32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_low_surrogate(std::uint32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

char unescaped(char letter) {
  switch (letter) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return letter;
  }
}

/// Appends what `raw`, the inside of a string that was scanned, stands for.
void append_unescaped(std::string_view raw, std::string& out) {
  const char* at = raw.data();
  const char* const end = at + raw.size();
  while (const auto* backslash =
             static_cast<const char*>(std::memchr(at, '\\', static_cast<std::size_t>(end - at)))) {
    out.append(at, backslash);
    at = backslash + 2;
    if (backslash[1] != 'u') {
      out += unescaped(backslash[1]);
      continue;
    }
    std::uint32_t code_point = read_hex4(at, end).value();
    at += 4;
    if (is_high_surrogate(code_point)) {
      const std::uint32_t low = read_hex4(at + 2, end).value();
      code_point = 0x10000 + ((code_point - 0xd800) << 10U) + (low - 0xdc00);
      at += 6;
    }
    append_utf8(code_point, out);
  }
  out.append(at, end);
}

const char* skip_digits(const char* at, const char* end) {
  while (at != end && is_digit(*at)) ++at;
  return at;
}

}  // namespace

Scanner::Scanner(std::string_view body, TextArena& arena)
    : body_end_(body.data() + body.size()), arena_(arena), duplicates_(HashKey::random()) {}

void Scanner::start(std::string_view line) {
  at_ = line.data();
  end_ = line.data() + line.size();
}

bool Scanner::fail(Problem problem, const char* at, std::string_view key) {
  fault_ = {problem, at, key};
  return false;
}

bool Scanner::fail_expecting(Problem expected) {
  return fail(at_end() ? Problem::kLineEnds : expected, at_);
}

bool Scanner::take(std::string_view bytes) {
  if (static_cast<std::size_t>(end_ - at_) < bytes.size()) return false;
  if (std::memcmp(at_, bytes.data(), bytes.size()) != 0) return false;
  at_ += bytes.size();
  return true;
}

bool Scanner::scan_key(std::string_view& key) {
  if (peek() != '"') return fail_expecting(Problem::kExpectedKey);
  StringToken token;
  if (!scan_string(token)) return false;
  key = token.raw;
  if (token.escaped) {
    key_.clear();
    append_unescaped(token.raw, key_);
    key = key_;
  }
  return true;
}

bool Scanner::scan_colon() {
  skip_space();
  if (peek() != ':') return fail_expecting(Problem::kExpectedColon);
  ++at_;
  skip_space();
  return true;
}

bool Scanner::scan_value(std::optional<std::string_view>& cell) {
  const char* const begin = at_;
  switch (peek()) {
    case '"': {
      StringToken token;
      if (!scan_string(token)) return false;
      cell = token.raw;
      if (token.escaped) {
        const std::size_t mark = arena_.size();
        append_unescaped(token.raw, arena_.buffer());
        cell = arena_.since(mark);
      }
      return true;
    }
    case '{':
    case '[':
      return scan_container(cell.emplace());
    case 'n':
      cell.reset();
      return scan_word("null");
    case 't':
      if (!scan_word("true")) return false;
      break;
    case 'f':
      if (!scan_word("false")) return false;
      break;
    default:
      if (!scan_number()) return false;
      break;
  }
  cell = std::string_view(begin, at_);
  return true;
}

bool Scanner::scan_string(StringToken& token) {
  const char* const open = at_;
  token.escaped = false;
  // A line feed or CR follows every line but the last of the body, and find_special stops there,
  // so looking ahead is bounded by the body alone.
  for (const char* at = open + 1;;) {
    at = find_special(at, body_end_);
    if (at >= end_) return fail(Problem::kUnclosedString, open);
    if (*at == '"') {
      token.raw = std::string_view(open + 1, at);
      at_ = at + 1;
      return true;
    }
    if (*at != '\\') return fail(*at == '\0' ? Problem::kNul : Problem::kControlCharacter, at);
    token.escaped = true;
    at = check_escape(at, open);
    if (at == nullptr) return false;
  }
}

/// The byte after the escape; null, and the fault set, if it is none.
const char* Scanner::check_escape(const char* backslash, const char* open) {
  if (end_ - backslash < 2) {
    fail(Problem::kUnclosedString, open);
    return nullptr;
  }
  switch (backslash[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      return backslash + 2;
    case 'u':
      return check_unicode_escape(backslash);
    default:
      fail(Problem::kBadEscape, backslash);
      return nullptr;
  }
}

const char* Scanner::check_unicode_escape(const char* backslash) {
  const std::optional<std::uint32_t> unit = read_hex4(backslash + 2, end_);
  if (!unit) {
    fail(Problem::kBadUnicodeEscape, backslash);
    return nullptr;
  }
  if (*unit == 0) {
    fail(Problem::kNul, backslash);
    return nullptr;
  }
  const char* const next = backslash + 6;
  if (!is_high_surrogate(*unit) && !is_low_surrogate(*unit)) return next;
  if (is_high_surrogate(*unit) && end_ - next >= 6 && next[0] == '\\' && next[1] == 'u') {
    const std::optional<std::uint32_t> low = read_hex4(next + 2, end_);
    if (low && is_low_surrogate(*low)) return next + 6;
  }
  fail(Problem::kLoneSurrogate, backslash);
  return nullptr;
}

bool Scanner::scan_number() {
  const char* at = at_;
  if (at != end_ && *at == '-') ++at;
  const char* const integer = at;
  at = skip_digits(at, end_);
  if (at == integer) {
    return at == at_ ? fail_expecting(Problem::kExpectedValue) : fail(Problem::kBadNumber, at_);
  }
  if (*integer == '0' && at - integer > 1) return fail(Problem::kBadNumber, at_);
  if (at != end_ && *at == '.') {
    const char* const fraction = ++at;
    at = skip_digits(at, end_);
    if (at == fraction) return fail(Problem::kBadNumber, at_);
  }
  if (at != end_ && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end_ && (*at == '+' || *at == '-')) ++at;
    const char* const exponent = at;
    at = skip_digits(at, end_);
    if (at == exponent) return fail(Problem::kBadNumber, at_);
  }
  if (at != end_ && is_word_byte(*at)) return fail(Problem::kBadNumber, at_);
  at_ = at;
  return true;
}

bool Scanner::scan_word(std::string_view word) {
  const char* const begin = at_;
  if (take(word) && !is_word_byte(peek())) return true;
  return fail(Problem::kExpectedValue, begin);
}

bool Scanner::scan_container(std::string_view& text) {
  const char* const begin = at_;
  const std::size_t mark = arena_.size();
  run_begin_ = begin;
  open_levels_ = 0;
  nested_keys_.clear();
  if (!nested_key_texts_.empty()) nested_key_texts_.clear();
  if (!open_level()) return false;
  while (open_levels_ > 0) {
    // Here a level was opened, or a comma was read: a member or an element follows.
    drop_space();
    if (peek() == innermost().close) {
      if (comma_ != nullptr) return fail(Problem::kCommaBeforeEnd, comma_);
      if (!close_level()) return false;
    } else {
      if (innermost().close == '}' && !scan_nested_key()) return false;
      if (peek() == '{' || peek() == '[') {
        if (!open_level()) return false;
        continue;
      }
      if (!scan_nested_scalar()) return false;
    }
    if (!close_levels()) return false;
  }
  if (run_begin_ == begin) {
    text = std::string_view(begin, at_);
  } else {
    arena_.buffer().append(run_begin_, at_);
    text = arena_.since(mark);
  }
  return true;
}

/// After a value: closes every level that ends here, and takes the comma if one follows.
bool Scanner::close_levels() {
  while (open_levels_ > 0) {
    drop_space();
    if (peek() == ',') {
      comma_ = at_++;
      return true;
    }
    if (peek() != innermost().close) {
      return fail_expecting(innermost().close == '}' ? Problem::kExpectedCommaOrBrace
                                                     : Problem::kExpectedCommaOrBracket);
    }
    if (!close_level()) return false;
  }
  return true;
}

bool Scanner::open_level() {
  if (open_levels_ == levels_.size()) return fail(Problem::kTooDeep, at_);
  levels_[open_levels_++] = {.close = *at_ == '{' ? '}' : ']', .keys_begin = nested_keys_.size()};
  comma_ = nullptr;
  ++at_;
  return true;
}

bool Scanner::close_level() {
  const std::size_t keys_begin = innermost().keys_begin;
  const NestedKey* const duplicate = duplicates_.find(std::span(nested_keys_).subspan(keys_begin));
  if (duplicate != nullptr) {
    return fail(Problem::kDuplicateNestedKey, duplicate->at, duplicate->text);
  }
  nested_keys_.resize(keys_begin);
  --open_levels_;
  ++at_;
  return true;
}

bool Scanner::scan_nested_key() {
  if (peek() != '"') return fail_expecting(Problem::kExpectedKey);
  NestedKey key{.text = {}, .at = at_};
  StringToken token;
  if (!scan_string(token)) return false;
  key.text = token.raw;
  if (token.escaped) {
    std::string& text = nested_key_texts_.emplace_back();
    append_unescaped(token.raw, text);
    key.text = text;
  }
  nested_keys_.push_back(key);
  drop_space();
  if (peek() != ':') return fail_expecting(Problem::kExpectedColon);
  ++at_;
  drop_space();
  return true;
}

bool Scanner::scan_nested_scalar() {
  switch (peek()) {
    case '"': {
      StringToken token;
      return scan_string(token);
    }
    case 'n':
      return scan_word("null");
    case 't':
      return scan_word("true");
    case 'f':
      return scan_word("false");
    default:
      return scan_number();
  }
}

/// Skips white space inside a nested value and copies what came before it, so that the cell is
/// compact; a value without any stays a piece of the body.
void Scanner::drop_space() {
  if (at_ == end_ || !is_space(*at_)) return;
  arena_.buffer().append(run_begin_, at_);
  skip_space();
  run_begin_ = at_;
}

}  // namespace strata::ndjson
