#pragma once

#include <string>
#include <vector>

#include "duck/sql.h"
#include "ontology/model.h"
#include "ontology/profile.h"

/// The tables of a model, typed once from the text cells of a snapshot, so that no reader pays for
/// a cast.
namespace strata::ontology {

struct TypedColumn {
  std::string name;
  ColumnType type;
  bool operator==(const TypedColumn&) const = default;
};

struct TypedTable {
  std::string view;  // `pay_fact`
  Kind kind = Kind::kFact;
  std::string key;                   // the column that is unique, of a dimension
  std::vector<TypedColumn> columns;  // without those that Strata adds
  duck::Sql select;
};

/// One for each type of `model`, over `snapshot`, which has the model's columns, filename and
/// _batch_id. A cell that is not what its column is becomes NULL, never another value.
/// - A fact keeps every row, with filename and _batch_id.
/// - A dimension has one row a key: of each property the value of the latest row, by the fact's
///   time if it has one (rows without it come before all others), then by file; and
///   _strata_conflicts, of how many properties there were several.
/// `profile` is the snapshot's: of columns that it does not have nothing is known, and each cell is
/// looked at.
std::vector<TypedTable> typed_tables(const Model& model, const Profile& profile,
                                     const duck::Sql& snapshot);

/// A cell of `column` as `type` says, else NULL; `known` is what its profile says.
duck::Sql typed_cell(std::string_view column, const ColumnType& type,
                     const ColumnProfile& known = {});

/// What a column of `type` is in a table.
duck::Sql sql_type(const ColumnType& type);

}  // namespace strata::ontology
