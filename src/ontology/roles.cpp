#include "ontology/roles.h"

#include <algorithm>
#include <cmath>

#include "base/cells.h"
#include "ontology/date_look.h"
#include "ontology/words/abbreviations.h"
#include "ontology/words/identifiers.h"
#include "ontology/words/labels.h"
#include "ontology/words/lists.h"
#include "ontology/words/measures.h"
#include "ontology/words/times.h"
#include "ontology/words/types.h"

namespace strata::ontology {
namespace {

constexpr std::uint64_t kFewValuesMax = 20;
/// More different texts than that group nothing.
constexpr std::uint64_t kCategoryValuesMax = 10'000;
constexpr std::uint64_t kCellLengthMax = 120;
/// Titles of books and of products run longer.
constexpr std::uint64_t kLabelLengthMax = 255;

/// What the rules below look at.
struct Facts {
  const ColumnProfile& column;
  std::uint64_t rows;
  Words words;

  bool text() const { return column.type.type == Type::kVarchar; }
  bool whole() const { return column.type.type == Type::kBigint; }
  bool one_length(std::uint64_t length) const {
    return column.length_min == length && column.length_max == length;
  }
};

/// All cells, but for noise.
bool covers(std::uint64_t part, std::uint64_t cells) {
  return static_cast<double>(part) >= static_cast<double>(cells) * (1 - noise_share(cells));
}

/// One value; or one, and slips that occur once each.
bool is_constant(const Facts& facts) {
  const std::uint64_t cells = filled(facts.column, facts.rows);
  const std::uint64_t others = cells - facts.column.top_frequency;
  if (cells < 2 || facts.column.distinct - 1 != others) return false;
  // Of few rows a value that occurs once is no slip.
  constexpr std::uint64_t kCellsMin = 50;
  return others == 0 || (cells >= kCellsMin && covers(facts.column.top_frequency, cells));
}

/// Days and months that no type takes, as `02/15/2023` or `June 12 1998`: about time all the same.
bool is_written_like_dates(const ColumnProfile& column) {
  const auto dates = std::ranges::count_if(
      column.top, [](const CountedText& cell) { return reads_like_date(cell.text); });
  return 10 * static_cast<std::size_t>(dates) > 9 * column.top.size();
}

bool is_time(const Facts& facts) {
  switch (facts.column.type.type) {
    case Type::kDate:
    case Type::kMonth:
    case Type::kTimestamp:
    case Type::kTimestampTz:
      return true;
    case Type::kBigint:
      return (facts.one_length(4) && words::any_in(facts.words, words::kYearWords)) ||
             ((facts.one_length(10) || facts.one_length(13)) &&
              words::any_in(facts.words, words::kEpochWords));
    case Type::kVarchar:
      return is_written_like_dates(facts.column);
    default:
      return false;
  }
}

/// `salesOrder`: 4500001. A number of documents or persons, were it one, would be of any length.
bool is_bare_code(const Facts& facts) {
  constexpr std::uint64_t kLengthMin = 4;
  return facts.whole() && words::is_in(facts.words.back(), words::kGluedNouns) &&
         facts.column.length_min >= kLengthMin && facts.one_length(facts.column.length_min);
}

bool says_how_much(const Words& words) {
  return words::any_in(words, words::kMoneyWords) || words::any_in(words, words::kQuantityWords) ||
         words::any_in(words, words::kNonAdditiveWords);
}

/// `number_of_items`, and whole numbers under a plural: `passengers`.
bool counts_something(const Facts& facts) {
  if (!facts.whole()) return false;
  const std::string& last = facts.words.back();
  return (facts.words.size() > 1 && words::is_in(facts.words.front(), words::kCountBeginnings)) ||
         singular(last) != last;
}

bool is_identifier(const Facts& facts) {
  if (!facts.text() && !facts.whole()) return false;
  if (facts.column.length_max > kCellLengthMax || counts_something(facts)) return false;
  return words::is_in(facts.words.back(), words::kIdentifierEndings) ||
         words::is_in(facts.words.back(), words::kIdentifierNouns) ||
         words::is_in(facts.words.front(), words::kIdentifierBeginnings) || is_bare_code(facts);
}

/// Every header has a first line, so that no number is more frequent than the first one; item_id
/// may be the code of a thing as well.
bool counts_from_first(const ColumnProfile& column) {
  return std::ranges::any_of(column.top, [&](const CountedText& cell) {
    return words::is_in(cell.text, words::kFirstOrdinals) &&
           10 * cell.count >= 9 * column.top_frequency;
  });
}

/// `rec_no`, 1 to the number of rows: the place in an export, where a `row_id` may be kept for
/// good.
bool numbers_rows(const Facts& facts) {
  const bool named = words::is_in(facts.words.front(), words::kRowWords) &&
                     (facts.words.size() == 1 || facts.words.back() == "number");
  return named && facts.column.length_min == 1 &&
         facts.column.length_max <= std::to_string(facts.rows).size();
}

bool is_ordinal(const Facts& facts) {
  const bool named = words::is_in(facts.words.front(), words::kOrdinalBeginnings) &&
                     (facts.words.size() == 1 || is_identifier(facts) ||
                      words::is_in(facts.words.back(), words::kOrdinalBeginnings));
  return facts.whole() && named && counts_from_first(facts.column) &&
         (!is_unique(facts.column, facts.rows) || numbers_rows(facts));
}

/// Words of yes and no, but for noise: one slip is enough to keep the type from being BOOLEAN.
bool says_yes_or_no(const Facts& facts) {
  static constexpr std::string_view kWords[] = {"true", "false", "yes", "no", "t", "f", "y", "n"};
  if (!facts.text() || facts.column.distinct < 2) return false;
  std::uint64_t words = 0;
  for (const CountedText& cell : facts.column.top) {
    if (words::is_in(ascii_lower(cell.text), kWords)) words += cell.count;
  }
  return covers(words, filled(facts.column, facts.rows));
}

/// 0 and 1 are no, yes, and nothing else, where they neither count nor rank.
bool is_zero_or_one(const Facts& facts) {
  return facts.column.distinct == 2 && facts.column.length_max == 1 &&
         !says_how_much(facts.words) && !counts_something(facts) &&
         !words::is_in(facts.words.back(), words::kTypeEndings) &&
         std::ranges::all_of(facts.column.top, [](const CountedText& cell) {
           return cell.text == "0" || cell.text == "1";
         });
}

bool is_flag(const Facts& facts) {
  if (facts.column.type.type == Type::kBoolean || says_yes_or_no(facts)) return true;
  if (!facts.whole() || facts.column.distinct > 2) return false;
  return facts.words.front() == "is" || facts.words.front() == "has" ||
         facts.words.back() == "flag" || is_zero_or_one(facts);
}

/// Sentences: three blanks or more in most of the most frequent cells.
bool is_prose(const ColumnProfile& column) {
  const auto sentences = std::ranges::count_if(
      column.top, [](const CountedText& cell) { return std::ranges::count(cell.text, ' ') >= 3; });
  return 2 * static_cast<std::size_t>(sentences) > column.top.size();
}

bool is_text(const Facts& facts) {
  if (!facts.text()) return false;
  const std::uint64_t cells = filled(facts.column, facts.rows);
  return facts.column.length_max > kCellLengthMax || facts.column.distinct > kCategoryValuesMax ||
         (10 * facts.column.distinct > 9 * cells && is_prose(facts.column));
}

bool is_label(const Facts& facts) {
  if (!facts.text() || facts.column.length_max > kLabelLengthMax) return false;
  if (words::is_in(facts.words.back(), words::kTextLabels) && is_text(facts)) return false;
  return words::is_in(facts.words.back(), words::kLabelEndings);
}

bool is_measure(const Facts& facts) {
  if (!is_number(facts.column.type)) return false;
  if (!facts.whole() || counts_something(facts)) return true;
  const bool few = has_few_values(facts.column, facts.rows);
  // The numbers of pay_grade are no pay; those of stock_level are stock.
  if (few && words::is_in(facts.words.back(), words::kTypeEndings)) {
    return words::any_in(facts.words, words::kQuantityWords);
  }
  // Of few rows, twenty values may be all there are.
  return says_how_much(facts.words) || !few ||
         2 * facts.column.distinct > filled(facts.column, facts.rows);
}

}  // namespace

Role role_of(const ColumnProfile& column, std::uint64_t rows) {
  const std::uint64_t cells = filled(column, rows);
  if (cells == 0) return Role::kEmpty;
  Facts facts{column, rows, words_of(column.column)};
  if (facts.words.empty()) facts.words.emplace_back();
  if (is_time(facts)) return Role::kTime;
  if (is_flag(facts)) return Role::kFlag;
  if (is_constant(facts)) {
    const bool amount = is_number(column.type) && says_how_much(facts.words);
    return amount ? Role::kMeasure : Role::kConstant;
  }
  if (is_ordinal(facts)) return Role::kOrdinal;
  if (is_identifier(facts)) return Role::kIdentifier;
  if (is_label(facts)) return Role::kLabel;
  if (is_text(facts)) return Role::kText;
  return is_measure(facts) ? Role::kMeasure : Role::kCategory;
}

std::vector<Column> read_columns(const Profile& profile) {
  std::vector<Column> columns;
  for (const ColumnProfile& column : profile.columns) {
    const Role role = role_of(column, profile.rows);
    if (role == Role::kEmpty) continue;
    Words words = words_of(column.column);
    Words stem = stem_of(words);
    columns.push_back({&column, std::move(words), std::move(stem), role});
  }
  std::ranges::sort(columns, {}, &Column::name);
  return columns;
}

double noise_share(std::uint64_t rows) {
  constexpr double kShare = 0.02;
  constexpr double kDeviations = 3;
  if (rows == 0) return kShare;
  return kShare + kDeviations * std::sqrt(kShare * (1 - kShare) / static_cast<double>(rows));
}

std::uint64_t filled(const ColumnProfile& column, std::uint64_t rows) {
  return rows - std::min(rows, column.nulls);
}

bool has_few_values(const ColumnProfile& column, std::uint64_t rows) {
  if (column.distinct <= kFewValuesMax) return true;
  std::uint64_t covered = 0;
  for (const CountedText& value : column.top) covered += value.count;
  return covers(covered, filled(column, rows));
}

bool is_unique(const ColumnProfile& column, std::uint64_t rows) {
  const std::uint64_t cells = filled(column, rows);
  // No allowance for chance here: of few rows each repetition is one.
  return cells > 0 && 100 * column.distinct >= 98 * cells && 2 * cells > rows;
}

bool is_number(const ColumnType& type) {
  return type.type == Type::kBigint || type.type == Type::kDecimal || type.type == Type::kDouble;
}

bool looks_like_codes(const ColumnProfile& column) {
  constexpr std::size_t kMasksMax = 3;
  return !column.masks.empty() && column.masks.size() <= kMasksMax &&
         std::ranges::all_of(column.masks, [](const CountedText& mask) {
           return mask.text.contains('9') && !mask.text.contains(' ');
         });
}

}  // namespace strata::ontology
