#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strata::ndjson {

/// Everything that can be wrong with a line but its column names (column_table.h).
enum class Problem : std::uint8_t {
  // The line as a whole.
  kNotUtf8,
  kNotAnObject,    // JSON of another kind
  kNoObject,       // does not begin with an object, and is no JSON either
  kByteOrderMark,  // elsewhere than at the start of the body
  kSecondRecord,
  kCommaAfterRecord,
  kTextAfterRecord,
  // Structure.
  kLineEnds,  // inside the record
  kExpectedKey,
  kExpectedColon,
  kExpectedValue,
  kExpectedCommaOrBrace,
  kExpectedCommaOrBracket,
  kCommaBeforeEnd,
  kTooDeep,
  kDuplicateKey,
  kDuplicateNestedKey,
  // Scalars.
  kBadNumber,
  kUnclosedString,
  kControlCharacter,
  kBadEscape,
  kBadUnicodeEscape,
  kLoneSurrogate,
  kNul,
};

/// How and where a line fails. Cheap to make: it becomes a sentence only if it is among the first
/// kErrorsReportedMax of its batch.
struct Fault {
  Problem problem = Problem::kNoObject;
  const char* at = nullptr;  // into the line, or its end
  std::string_view key;      // of kDuplicateKey and kDuplicateNestedKey
};

/// A byte that words and numbers are made of: what stands between two of JSON's own signs.
bool is_word_byte(char c);

/// What is wrong, where (bytes of the line, from 1) and what to do, in one sentence that quotes at
/// most 40 bytes of the line. The line is valid UTF-8 unless the problem is kNotUtf8.
std::string describe(const Fault& fault, std::string_view line);

}  // namespace strata::ndjson
