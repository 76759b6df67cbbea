#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ontology/model.h"
#include "ontology/names.h"
#include "ontology/profile.h"

namespace strata::ontology {

/// What a column is for, by its name and its profile: the first that fits in the order of Role,
/// but that a time or a flag stays one when it is constant. Ceilings are numbers of values, no
/// shares of rows: a column must not change its role when its stream grows.
Role role_of(const ColumnProfile& column, std::uint64_t rows);

/// A column with what its name and its profile say. Points into the profile.
struct Column {
  const ColumnProfile* profile = nullptr;
  Words words;
  Words stem;
  Role role = Role::kCategory;

  const std::string& name() const { return profile->column; }
};
/// All but empty ones, by name: the order in which a stream's columns came changes nothing.
std::vector<Column> read_columns(const Profile& profile);

/// Rows that are wrong in a column that is right: 2 %, and what chance adds to it in so many rows.
double noise_share(std::uint64_t rows);
/// Cells that are not null-like.
std::uint64_t filled(const ColumnProfile& column, std::uint64_t rows);
/// At most 20 values, but for noise.
bool has_few_values(const ColumnProfile& column, std::uint64_t rows);
/// Every row has its own value, but for noise.
bool is_unique(const ColumnProfile& column, std::uint64_t rows);
bool is_number(const ColumnType& type);
/// Every mask has a digit, none a blank, and they are few: E9999.
bool looks_like_codes(const ColumnProfile& column);

}  // namespace strata::ontology
