#include "api/accept.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "api/json.h"
#include "base/cells.h"

namespace strata::api {
namespace {

struct Range {
  std::string type;
  double weight = 1;
};

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// The next part of `rest` up to `separator`, which is taken off it.
std::string_view take_part(std::string_view& rest, char separator) {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  return part;
}

/// `q=0.5` of the parameters; 1 without one that can be read.
double weight_of(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string_view parameter = trimmed(take_part(parameters, ';'));
    if (!parameter.starts_with("q=") && !parameter.starts_with("Q=")) continue;
    double weight = 1;
    const std::string_view number = parameter.substr(2);
    const auto read = std::from_chars(number.data(), number.data() + number.size(), weight,
                                      std::chars_format::fixed);
    return read.ec == std::errc() ? std::clamp(weight, 0.0, 1.0) : 1;
  }
  return 1;
}

std::vector<Range> read_ranges(std::string_view accept) {
  std::vector<Range> ranges;
  while (!accept.empty()) {
    std::string_view item = take_part(accept, ',');
    Range range{.type = media_type_of(take_part(item, ';'))};
    range.weight = weight_of(item);
    if (!range.type.empty()) ranges.push_back(std::move(range));
  }
  return ranges;
}

/// How closely `range` names `type`: 0 not at all, 3 exactly.
int closeness(std::string_view range, std::string_view type) {
  if (range == type) return 3;
  if (range == "*/*") return 1;
  const bool family = range.ends_with("/*") && type.starts_with(range.substr(0, range.size() - 1));
  return family ? 2 : 0;
}

/// The range that decides on `type`, or none.
const Range* deciding(const std::vector<Range>& ranges, std::string_view type) {
  const Range* best = nullptr;
  int best_closeness = 0;
  for (const Range& range : ranges) {
    const int close = closeness(range.type, type);
    if (close > best_closeness) {
      best = &range;
      best_closeness = close;
    }
  }
  return best;
}

}  // namespace

std::optional<std::size_t> choose_media_type(std::string_view accept,
                                             std::span<const std::string_view> offered) {
  const std::vector<Range> ranges = read_ranges(accept);
  std::optional<std::size_t> chosen;
  const Range* chosen_by = nullptr;
  for (std::size_t index = 0; index < offered.size(); ++index) {
    const Range* range = deciding(ranges, offered[index]);
    if (range == nullptr || range->weight <= 0) continue;
    const bool better =
        chosen_by == nullptr || range->weight > chosen_by->weight ||
        (range->weight == chosen_by->weight && range < chosen_by);  // both in one array
    if (better) {
      chosen = index;
      chosen_by = range;
    }
  }
  return chosen;
}

}  // namespace strata::api
