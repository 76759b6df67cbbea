#include "ndjson/parse.h"

#include <cstring>
#include <optional>

#include "ndjson/advice.h"
#include "ndjson/column_table.h"
#include "ndjson/problem.h"
#include "ndjson/scanner.h"
#include "ndjson/text.h"
#include "ndjson/text_arena.h"

namespace strata::ndjson {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

Rejection reject_whole(std::uint64_t line, std::string reason, std::string advice = {}) {
  return {.errors = {{.line = line, .column = {}, .reason = std::move(reason)}},
          .error_count = 1,
          .advice = std::move(advice)};
}

/// One body, used once.
class BatchParser {
 public:
  BatchParser(std::string_view body, const Rules& rules)
      : body_(body),
        ascii_(is_ascii(body)),
        arena_(table_.arena, body.size()),
        scanner_(body, arena_),
        columns_(rules.registered) {}
  // The arena holds a reference to the table.
  BatchParser(const BatchParser&) = delete;
  BatchParser& operator=(const BatchParser&) = delete;

  std::expected<CellTable, Rejection> run();

 private:
  void parse_line(std::string_view line);
  void reserve_for_rows_like_the_first(std::size_t line_bytes);
  [[nodiscard]] bool parse_record(std::string_view line);
  [[nodiscard]] bool parse_member(std::uint32_t& previous);
  [[nodiscard]] bool parse_key(std::uint32_t previous, std::uint32_t& column);
  [[nodiscard]] bool parse_end();
  [[nodiscard]] bool fail_other_than_object();
  void report(std::string_view line);
  Rejection reject();

  std::string_view body_;
  bool ascii_;
  CellTable table_;
  TextArena arena_;
  Scanner scanner_;
  ColumnTable columns_;

  std::uint64_t line_number_ = 0;
  std::string_view key_;                     // the line's current one; empty where there is none
  std::optional<ColumnFault> column_fault_;  // why key_ is no column; else see scanner_.fault()
  std::vector<LineError> errors_;
  std::uint64_t error_count_ = 0;
  std::optional<Problem> first_line_problem_;
};

std::expected<CellTable, Rejection> BatchParser::run() {
  const char* at = body_.data();
  const char* const end = at + body_.size();
  while (at != end) {
    const auto* feed =
        static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    const char* const line_end = feed == nullptr ? end : feed;
    ++line_number_;
    parse_line(std::string_view(at, line_end));
    at = feed == nullptr ? end : feed + 1;
  }
  if (error_count_ > 0) return std::unexpected(reject());
  if (table_.row_count() == 0) {
    return std::unexpected(reject_whole(
        0, body_.empty() ? "The body is empty: send at least one record."
                         : "The body has only blank lines: send at least one record."));
  }
  table_.columns = columns_.take_names();
  return std::move(table_);
}

void BatchParser::parse_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  scanner_.start(line);
  scanner_.skip_space();
  if (scanner_.at_end()) return;
  key_ = {};
  column_fault_.reset();
  const bool first = table_.row_count() == 0 && error_count_ == 0;
  const std::size_t row_begin = table_.fields.size();
  if (parse_record(line)) {
    table_.row_ends.push_back(table_.fields.size());
    if (first) reserve_for_rows_like_the_first(line.size());
    return;
  }
  if (first && !column_fault_) first_line_problem_ = scanner_.fault().problem;
  table_.fields.resize(row_begin);
  report(line);
}

/// Most batches are alike in all lines: room for them at once saves growing, and is at most what
/// the body could fill with such lines.
void BatchParser::reserve_for_rows_like_the_first(std::size_t line_bytes) {
  const std::size_t rows = body_.size() / (line_bytes + 1) + 1;
  table_.row_ends.reserve(rows);
  table_.fields.reserve(rows * table_.fields.size());
}

bool BatchParser::parse_record(std::string_view line) {
  if (!ascii_) {
    const char* const invalid = find_invalid_utf8(line);
    if (invalid != nullptr) return scanner_.fail(Problem::kNotUtf8, invalid);
  }
  if (scanner_.peek() != '{') return fail_other_than_object();
  scanner_.advance();
  scanner_.skip_space();
  if (scanner_.peek() != '}') {
    for (std::uint32_t previous = ColumnTable::kNone;;) {
      if (!parse_member(previous)) return false;
      if (scanner_.peek() == '}') break;
      const char* const comma = scanner_.position();
      if (scanner_.peek() != ',') {
        return scanner_.fail_expecting(Problem::kExpectedCommaOrBrace);
      }
      scanner_.advance();
      scanner_.skip_space();
      key_ = {};
      if (scanner_.peek() == '}') return scanner_.fail(Problem::kCommaBeforeEnd, comma);
    }
  }
  key_ = {};
  scanner_.advance();
  return parse_end();
}

/// A key and its value; `previous` is the column before and becomes this one.
bool BatchParser::parse_member(std::uint32_t& previous) {
  const char* const begin = scanner_.position();
  std::uint32_t column = ColumnTable::kNone;
  if (!parse_key(previous, column)) return false;
  key_ = columns_.name(column);
  if (!columns_.mark(column, line_number_)) {
    return scanner_.fail(Problem::kDuplicateKey, begin, key_);
  }
  if (!scanner_.scan_colon()) return false;
  std::optional<std::string_view> cell;
  if (!scanner_.scan_value(cell)) return false;
  if (cell) {
    table_.fields.push_back({.column = columns_.output_index(column), .text = *cell});
  }
  scanner_.skip_space();
  previous = column;
  return true;
}

bool BatchParser::parse_key(std::uint32_t previous, std::uint32_t& column) {
  column = columns_.guess_after(previous);
  if (column != ColumnTable::kNone) {
    const std::string_view quoted_name = columns_.quoted_name(column);
    if (!quoted_name.empty() && scanner_.take(quoted_name)) return true;
  }
  if (!scanner_.scan_key(key_)) return false;
  const std::expected<std::uint32_t, ColumnFault> found = columns_.find_or_add(key_);
  if (!found) {
    column_fault_ = found.error();
    return false;
  }
  column = *found;
  columns_.remember_after(previous, column);
  return true;
}

bool BatchParser::parse_end() {
  scanner_.skip_space();
  if (scanner_.at_end()) return true;
  const char next = scanner_.peek();
  return scanner_.fail(next == '{'   ? Problem::kSecondRecord
                       : next == ',' ? Problem::kCommaAfterRecord
                                     : Problem::kTextAfterRecord,
                       scanner_.position());
}

bool BatchParser::fail_other_than_object() {
  const char* const begin = scanner_.position();
  if (scanner_.take(kByteOrderMark)) return scanner_.fail(Problem::kByteOrderMark, begin);
  std::optional<std::string_view> value;
  if (!scanner_.scan_value(value)) return scanner_.fail(Problem::kNoObject, begin);
  scanner_.skip_space();
  return scanner_.fail(scanner_.at_end() ? Problem::kNotAnObject : Problem::kNoObject, begin);
}

void BatchParser::report(std::string_view line) {
  ++error_count_;
  if (errors_.size() == limits::kErrorsReportedMax) return;
  LineError& error = errors_.emplace_back();
  error.line = line_number_;
  // A name that could harm a terminal or a page stands in the reason only, escaped and cut.
  if (key_.size() <= limits::kColumnNameBytesMax &&
      find_control_character(key_) == std::string_view::npos) {
    error.column = key_;
  }
  error.reason =
      column_fault_ ? columns_.describe(*column_fault_, key_) : describe(scanner_.fault(), line);
}

Rejection BatchParser::reject() {
  return {.errors = std::move(errors_),
          .error_count = error_count_,
          .advice = first_line_problem_ ? advice_for(body_, *first_line_problem_) : std::string()};
}

}  // namespace

std::expected<CellTable, Rejection> parse(std::string_view body, const Rules& rules) {
  if (std::optional<NotText> not_text = recognise_not_text(body)) {
    return std::unexpected(
        reject_whole(1, std::move(not_text->reason), std::move(not_text->advice)));
  }
  if (body.starts_with(kByteOrderMark)) body.remove_prefix(kByteOrderMark.size());
  return BatchParser(body, rules).run();
}

}  // namespace strata::ndjson
