#include "ontology/dependencies.h"

#include <algorithm>
#include <cmath>

namespace strata::ontology {
namespace {

bool groups(const Column& column) {
  return column.role == Role::kIdentifier || column.role == Role::kLabel ||
         column.role == Role::kCategory;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// How much luck is luck, when so many pairs could have had it.
double bar_for(const std::vector<Column>& columns, std::uint64_t rows) {
  std::uint64_t pairs = 0;
  for (const Column& from : columns) {
    const std::uint64_t distinct = from.profile->distinct;
    if (!groups(from) || distinct <= 1 || distinct >= rows) continue;
    for (const Column& to : columns) {
      if (&to != &from && groups(to) && to.profile->distinct <= distinct) ++pairs;
    }
  }
  return -6 - std::log10(static_cast<double>(std::max<std::uint64_t>(pairs, 1)));
}

/// NULLs are counted as contradictions where they are the exception; else they are a value.
double excused_nulls(const Column& to, std::uint64_t rows) {
  constexpr double kExceptionsMax = 0.2;
  const double nulls = share(to.profile->nulls, rows);
  return nulls <= kExceptionsMax ? nulls : 0;
}

/// The share of rows that would be wrong if nothing were known but the most frequent value.
double ignorance(const Column& to, std::uint64_t rows) {
  const double excused = excused_nulls(to, rows);
  const std::uint64_t nulls = excused > 0 ? 0 : to.profile->nulls;
  return 1 - share(std::max(to.profile->top_frequency, nulls), rows) - excused;
}

}  // namespace

Dependencies::Dependencies(const std::vector<Column>& columns, std::uint64_t rows,
                           Evidence& evidence)
    : columns_(columns), rows_(rows), evidence_(evidence), bar_(bar_for(columns, rows)) {}

Result<std::optional<double>> Dependencies::luck(const Column& from, const Column& to) {
  if (&from == &to || is_unique(*from.profile, rows_)) return std::nullopt;
  STRATA_ASSIGN_OR_RETURN(const double wrong, contradiction(from, to));
  // Where one value is nearly everywhere, few rows are wrong whatever they are sorted by.
  constexpr double kUnexplainedMax = 0.2;
  if (wrong > noise_share(rows_) || wrong > kUnexplainedMax * ignorance(to, rows_)) {
    return std::nullopt;
  }
  return no_luck(from, to);
}

Result<bool> Dependencies::determines(const Column& from, const Column& to) {
  STRATA_ASSIGN_OR_RETURN(const auto found, luck(from, to));
  return found.has_value();
}

Result<bool> Dependencies::same_thing(const Column& one, const Column& other) {
  STRATA_ASSIGN_OR_RETURN(const bool there, determines(one, other));
  if (!there) return false;
  return determines(other, one);
}

Result<bool> Dependencies::agrees(const Column& from, const Column& to) {
  STRATA_ASSIGN_OR_RETURN(const double wrong, contradiction(from, to));
  return wrong <= noise_share(rows_);
}

Result<double> Dependencies::contradiction(const Column& from, const Column& to) {
  STRATA_ASSIGN_OR_RETURN(const auto found, evidence_.dependency(from.name(), to.name(), ""));
  return std::max(0.0, found.g3 - excused_nulls(to, rows_));
}

/// Nothing where it may be luck. Rows that are copies of one entity's row are counted once.
Result<std::optional<double>> Dependencies::no_luck(const Column& from, const Column& to) {
  STRATA_ASSIGN_OR_RETURN(auto found, evidence_.dependency(from.name(), to.name(), ""));
  // Fewer rows are weaker evidence: what fails already needs no grain.
  if (found.log10_luck >= bar_) return std::nullopt;
  STRATA_ASSIGN_OR_RETURN(const std::string entity, grain(from, to));
  if (!entity.empty()) {
    STRATA_ASSIGN_OR_RETURN(found, evidence_.dependency(from.name(), to.name(), entity));
  }
  if (found.log10_luck >= bar_) return std::nullopt;
  return found.log10_luck;
}

/// The column of the entity that both belong to: with more values than `from`, and fixing both.
/// Empty: the rows are no copies.
Result<std::string> Dependencies::grain(const Column& from, const Column& to) {
  const Column* coarsest = nullptr;
  for (const Column& entity : columns_) {
    if (!groups(entity) || &entity == &to || is_unique(*entity.profile, rows_)) continue;
    if (entity.profile->distinct <= from.profile->distinct) continue;
    if (coarsest != nullptr && coarsest->profile->distinct <= entity.profile->distinct) continue;
    STRATA_ASSIGN_OR_RETURN(const bool fixes_from, agrees(entity, from));
    if (!fixes_from) continue;
    STRATA_ASSIGN_OR_RETURN(const bool fixes_to, agrees(entity, to));
    if (!fixes_to) continue;
    // Another name of the same thing, with slips, is no finer grain.
    STRATA_ASSIGN_OR_RETURN(const bool alias, agrees(from, entity));
    if (!alias) coarsest = &entity;
  }
  return coarsest == nullptr ? std::string() : coarsest->name();
}

}  // namespace strata::ontology
