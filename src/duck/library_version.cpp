#include "duck/library_version.h"

#include <duckdb.h>

#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "duck/copy_batch_writer.h"

namespace strata::duck {
namespace {

/// Before 1.5 a stream's view fails for every reader as soon as a batch adds a column
/// (duckdb-facts.md A1).
constexpr std::pair<unsigned, unsigned> kOldestVersion{1, 5};

/// The first two numbers of `v1.5.6`, `v1.5.6-dev12`, `1.5`.
std::optional<std::pair<unsigned, unsigned>> major_and_minor(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  const char* const end = version.data() + version.size();
  std::pair<unsigned, unsigned> numbers;
  const auto major = std::from_chars(version.data(), end, numbers.first);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, numbers.second);
  if (minor.ec != std::errc{}) return std::nullopt;
  return numbers;
}

}  // namespace

Result<void> check_version(std::string_view version) {
  const auto numbers = major_and_minor(version);
  if (numbers && *numbers >= kOldestVersion) return {};
  return make_error(Code::kInternal,
                    "DuckDB " + std::string(version) +
                        " is too old: Strata needs 1.5 or newer, because before it a view fails as "
                        "soon as a batch adds a column; run `make build`, which fetches the right "
                        "one");
}

std::string library_version() { return duckdb_library_version(); }

Result<void> check_library_version() { return check_version(library_version()); }

}  // namespace strata::duck
