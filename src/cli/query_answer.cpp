#include "cli/query_answer.h"

#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <string>
#include <utility>

#include "cli/text.h"

namespace strata::cli {
namespace {

namespace json = boost::json;

// Follows the parser's events. Depths: 1 the answer, 2 `columns` or `rows`, 3 one column or row;
// what is deeper in a row is a nested cell and is written out again as it comes.
class AnswerHandler {
 public:
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  QueryAnswer answer;
  bool has_columns = false;
  bool has_rows = false;

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return open('{'); }
  bool on_object_end(std::size_t, json::error_code&) { return close('}'); }
  bool on_array_begin(json::error_code&) { return open('['); }
  bool on_array_end(std::size_t, json::error_code&) { return close(']'); }

  bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
    text_ += std::string_view(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, json::error_code&) {
    text_ += std::string_view(part);
    if (depth_ == 1) key_ = text_;
    if (depth_ == 3) column_key_ = text_;
    if (in_cell()) {
      comma();
      append_json_string(cell_, text_);
      cell_ += ':';
      after_value_ = false;
    }
    text_.clear();
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, json::error_code&) {
    text_ += std::string_view(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t, json::error_code&) {
    text_ += std::string_view(part);
    std::string text = std::exchange(text_, {});
    if (!in_cell()) return scalar(std::move(text));
    comma();
    append_json_string(cell_, text);
    return true;
  }
  bool on_number_part(json::string_view part, json::error_code&) {
    text_ += std::string_view(part);
    return true;
  }
  bool on_int64(std::int64_t value, json::string_view part, json::error_code&) {
    if (depth_ == 1 && key_ == "row_count") answer.row_count = static_cast<std::uint64_t>(value);
    return number(part);
  }
  bool on_uint64(std::uint64_t value, json::string_view part, json::error_code&) {
    if (depth_ == 1 && key_ == "row_count") answer.row_count = value;
    return number(part);
  }
  bool on_double(double, json::string_view part, json::error_code&) { return number(part); }
  bool on_bool(bool value, json::error_code&) {
    if (depth_ == 1 && key_ == "truncated") answer.truncated = value;
    return literal(value ? "true" : "false");
  }
  bool on_null(json::error_code&) {
    if (in_cell()) return literal("null");
    if (in_row()) answer.table.rows.back().emplace_back();
    return true;
  }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

 private:
  bool in_row() const { return key_ == "rows" && depth_ == 3; }
  bool in_cell() const { return key_ == "rows" && depth_ > 3; }

  bool open(char bracket) {
    if (in_row() || in_cell()) {
      comma();
      cell_ += bracket;
      after_value_ = false;
    }
    ++depth_;
    if (depth_ == 2 && key_ == "columns") has_columns = true;
    if (depth_ == 2 && key_ == "rows") has_rows = true;
    if (depth_ == 3 && key_ == "columns") answer.table.columns.emplace_back();
    if (depth_ == 3 && key_ == "rows") answer.table.rows.emplace_back();
    return true;
  }
  bool close(char bracket) {
    const bool nested = in_cell();
    --depth_;
    if (!nested) return true;
    cell_ += bracket;
    after_value_ = true;
    if (in_row()) {
      answer.table.rows.back().emplace_back(std::exchange(cell_, {}));
      after_value_ = false;
    }
    return true;
  }
  void comma() {
    if (after_value_) cell_ += ',';
    after_value_ = true;
  }
  bool number(json::string_view part) {
    text_ += std::string_view(part);
    return literal(std::exchange(text_, {}));
  }
  bool literal(std::string text) {
    if (!in_cell()) return scalar(std::move(text));
    comma();
    cell_ += text;
    return true;
  }
  bool scalar(std::string text) {
    if (in_row()) {
      answer.table.rows.back().emplace_back(std::move(text));
    } else if (key_ == "columns" && depth_ == 3) {
      Table::Column& column = answer.table.columns.back();
      if (column_key_ == "name") column.name = std::move(text);
      if (column_key_ == "type") column.is_number = is_number_type(text);
    }
    return true;
  }

  int depth_ = 0;
  std::string key_;         // of the answer
  std::string column_key_;  // of one column
  std::string text_;        // parts of the token being read
  std::string cell_;        // the nested cell being written
  bool after_value_ = false;
};

}  // namespace

bool is_number_type(std::string_view name) {
  constexpr std::array<std::string_view, 13> kNumbers{
      "TINYINT",  "SMALLINT", "INTEGER",  "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
      "UINTEGER", "UBIGINT",  "UHUGEINT", "FLOAT",  "DOUBLE",  "BIGNUM"};
  if (name == "DECIMAL" || name.starts_with("DECIMAL(")) return !name.ends_with("[]");
  return std::find(kNumbers.begin(), kNumbers.end(), name) != kNumbers.end();
}

Result<QueryAnswer> parse_query_answer(std::string_view body) {
  json::basic_parser<AnswerHandler> parser(json::parse_options{});
  json::error_code failure;
  const std::size_t used = parser.write_some(false, body.data(), body.size(), failure);
  AnswerHandler& handler = parser.handler();
  const bool whole = !failure && parser.done() && used == body.size();
  if (!whole || !handler.has_columns || !handler.has_rows) {
    return make_error(Code::kInternal,
                      "the answer is not a whole query result: is this a Strata server?");
  }
  return std::move(handler.answer);
}

}  // namespace strata::cli
