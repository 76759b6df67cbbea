#include "ndjson/column_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ndjson/parse.h"
#include "ndjson/text.h"

namespace strata::ndjson {
namespace {

// The view adds `filename` and `_batch_id` to every row, partitions add `_dt`, `_hour` and
// `_received_at`; a producer's column of that name would make the whole stream unreadable
// (duckdb-facts.md A3).
constexpr std::array<std::string_view, 5> kReservedNames{"filename", "_batch_id", "_dt", "_hour",
                                                         "_received_at"};
constexpr std::string_view kReservedPrefix = "_strata";
constexpr std::size_t kReservedBytesMax = 12;

enum class NameProblem : std::uint8_t {
  kNone,
  kEmpty,
  kNotUtf8,
  kTooLong,
  kControlCharacter,
  kReserved
};

NameProblem classify(std::string_view name) {
  if (name.empty()) return NameProblem::kEmpty;
  if (find_invalid_utf8(name) != nullptr) return NameProblem::kNotUtf8;
  if (name.size() > limits::kColumnNameBytesMax) return NameProblem::kTooLong;
  if (find_control_character(name) != std::string_view::npos) {
    return NameProblem::kControlCharacter;
  }
  return is_reserved_column(name) ? NameProblem::kReserved : NameProblem::kNone;
}

}  // namespace

bool is_legal_column(std::string_view name) { return classify(name) == NameProblem::kNone; }

bool is_reserved_column(std::string_view name) {
  const std::string beginning = ascii_lower(name.substr(0, kReservedBytesMax + 1));
  return std::ranges::find(kReservedNames, beginning) != kReservedNames.end() ||
         beginning.starts_with(kReservedPrefix);
}

std::string column_name_problem(std::string_view name) {
  switch (classify(name)) {
    case NameProblem::kNone:
      return {};
    case NameProblem::kEmpty:
      return "The column name is empty: name it at the producer.";
    case NameProblem::kNotUtf8:
      return "The column name is not valid UTF-8: send it in UTF-8.";
    case NameProblem::kTooLong:
      return fmt::format("The column name {} is {} bytes long: at most {} are allowed.",
                         shown(name), name.size(), limits::kColumnNameBytesMax);
    case NameProblem::kControlCharacter:
      return fmt::format("The column name {} has a control character: rename it at the producer.",
                         shown(name));
    case NameProblem::kReserved:
      return fmt::format("The column name {} is reserved for Strata: rename it at the producer.",
                         shown(name));
  }
  return {};
}

}  // namespace strata::ndjson
