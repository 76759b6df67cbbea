#include "base/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/cells.h"

namespace strata {
namespace {

/// Capitals and small letters are the same: names of streams have no capitals, what is typed may.
std::size_t edit_distance(std::string_view typed, std::string_view name) {
  const std::string a = ascii_lower(typed);
  const std::string b = ascii_lower(name);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view typed,
                                        std::span<const std::string> names) {
  constexpr std::size_t kTypedBytesMax = 128;  // ids are shorter; bounds the work on hostile input
  typed = typed.substr(0, kTypedBytesMax);
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(typed, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace strata
