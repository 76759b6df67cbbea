#include "ontology/typed_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "ontology/cells_sql.h"

namespace strata::ontology {
namespace {

using duck::Sql;

/// `spelled`: the cell may be a day that ISO 8601 would write otherwise.
Sql cast_of(const Sql& cell, const ColumnType& type, bool spelled) {
  if (type.type == Type::kBoolean) {
    return Sql("lower(").append(cell).raw(") IN ('true', 'yes', 't', 'y')");
  }
  Sql sql("TRY_CAST(");
  sql.append(spelled && has_spellings(type.type) ? as_iso(cell, type.type) : cell);
  if (type.type == Type::kMonth) sql.raw(" || '-01'");
  return sql.raw(" AS ").append(sql_type(type)).raw(")");
}

/// Commas between what is appended.
class List {
 public:
  Sql& next() {
    if (!first_) sql_.raw(", ");
    first_ = false;
    return sql_;
  }
  const Sql& sql() const { return sql_; }

 private:
  Sql sql_;
  bool first_ = true;
};

/// The column that orders the rows of an entity: the first of the model's times, by name.
std::string time_column(const Model& model) {
  for (const ObjectType& type : model.types) {
    for (const Property& property : type.properties) {
      if (property.role == Role::kTime && property.type.type != Type::kVarchar) {
        return property.column;
      }
    }
  }
  return {};
}

ColumnType type_of(const Model& model, std::string_view column) {
  for (const ObjectType& type : model.types) {
    for (const Property& property : type.properties) {
      if (property.column == column) return property.type;
    }
  }
  return {};
}

class TypedTables {
 public:
  TypedTables(const Model& model, const Profile& profile, const Sql& snapshot)
      : profile_(profile), snapshot_(snapshot), time_(time_of(model)) {}

  TypedTable fact(const ObjectType& type) const;
  TypedTable dimension(const ObjectType& type) const;

 private:
  Sql cell(std::string_view column, const ColumnType& type) const {
    const auto known = std::ranges::find(profile_.columns, column, &ColumnProfile::column);
    return known == profile_.columns.end() ? typed_cell(column, type)
                                           : typed_cell(column, type, *known);
  }
  Sql time_of(const Model& model) const {
    const std::string ordering = time_column(model);
    return ordering.empty() ? Sql("NULL::VARCHAR") : cell(ordering, type_of(model, ordering));
  }
  Sql in_role(const ObjectType& type, std::size_t role) const;

  const Profile& profile_;
  const Sql& snapshot_;
  const Sql time_;
};

TypedTable TypedTables::fact(const ObjectType& type) const {
  TypedTable table{.view = type.view, .kind = Kind::kFact, .key = {}, .columns = {}, .select = {}};
  List columns;
  const auto add = [&](const Property& property) {
    columns.next().append(cell(property.column, property.type)).raw(" AS ").ident(property.name);
    table.columns.push_back({property.name, property.type});
  };
  if (type.key) add(*type.key);
  for (const Property& property : type.properties) add(property);
  columns.next().raw("filename, _batch_id");
  table.select = Sql("SELECT ").append(columns.sql()).raw(" FROM ").append(snapshot_);
  return table;
}

/// The rows of the snapshot as the type plays its role number `role` in them.
Sql TypedTables::in_role(const ObjectType& type, std::size_t role) const {
  const auto column_of = [role](const Property& property) -> std::string {
    if (role == 0) return property.column;
    return role <= property.more_columns.size() ? property.more_columns[role - 1] : std::string();
  };
  List columns;
  const auto add = [&](const Property& property) {
    const std::string column = column_of(property);
    Sql& sql = columns.next();
    if (column.empty()) {
      sql.raw("NULL");
    } else {
      sql.append(cell(column, property.type));
    }
    sql.raw(" AS ").ident(property.name);
  };
  add(*type.key);
  for (const Property& property : type.properties) add(property);
  columns.next().append(time_).raw(" AS _strata_time, filename AS _strata_file");
  return Sql("SELECT ").append(columns.sql()).raw(" FROM ").append(snapshot_);
}

/// In two passes: first each property's least and greatest value, by key, which are the same as a
/// rule; then, of the few keys where they are not, the latest. To ask every row for its time and
/// file takes several times as long.
TypedTable TypedTables::dimension(const ObjectType& type) const {
  TypedTable table{.view = type.view,
                   .kind = Kind::kDimension,
                   .key = type.key->name,
                   .columns = {{type.key->name, type.key->type}},
                   .select = {}};
  const Sql key = Sql().ident(type.key->name);
  List columns;
  List bounds;
  List latest;
  columns.next().append(key);
  bounds.next().append(key);
  latest.next().append(key);
  Sql conflicts("0");
  for (std::size_t index = 0; index < type.properties.size(); ++index) {
    const Property& property = type.properties[index];
    const Sql value = Sql().ident(property.name);
    const Sql least = Sql().ident(fmt::format("_strata_least_{}", index));
    const Sql greatest = Sql().ident(fmt::format("_strata_greatest_{}", index));
    const Sql found = Sql().ident(fmt::format("_strata_latest_{}", index));
    bounds.next().raw("min(").append(value).raw(") AS ").append(least);
    bounds.next().raw("max(").append(value).raw(") AS ").append(greatest);
    // A NULL inside would be greater than every time. The value itself at the end: rows that are
    // alike otherwise come in any order.
    latest.next()
        .raw("arg_max(")
        .append(value)
        .raw(", (_strata_time IS NOT NULL, _strata_time, _strata_file, ")
        .append(value)
        .raw(")) AS ")
        .append(found);
    Sql& column = columns.next();
    column.raw("CASE WHEN ").append(least).raw(" = ").append(greatest).raw(" THEN ");
    column.append(least).raw(" ELSE ").append(found).raw(" END AS ").append(value);
    conflicts.raw(" + coalesce(").append(least).raw(" <> ").append(greatest);
    conflicts.raw(", FALSE)::INTEGER");
    table.columns.push_back({property.name, property.type});
  }
  columns.next().append(conflicts).raw(" AS _strata_conflicts");
  Sql rows = in_role(type, 0);
  for (std::size_t role = 1; role <= type.key->more_columns.size(); ++role) {
    rows.raw(" UNION ALL ").append(in_role(type, role));
  }
  table.select.raw("WITH _strata_rows AS (").append(rows);
  table.select.raw("), _strata_bounds AS MATERIALIZED (SELECT ").append(bounds.sql());
  table.select.raw(" FROM _strata_rows WHERE ").append(key).raw(" IS NOT NULL GROUP BY ALL), ");
  table.select.raw("_strata_latest AS (SELECT ").append(latest.sql());
  table.select.raw(" FROM _strata_rows WHERE ").append(key).raw(" IN (SELECT ").append(key);
  table.select.raw(" FROM _strata_bounds WHERE ").append(conflicts).raw(" > 0) GROUP BY ");
  table.select.append(key).raw(") SELECT ").append(columns.sql());
  table.select.raw(" FROM _strata_bounds LEFT JOIN _strata_latest USING (").append(key);
  table.select.raw(") ORDER BY ").append(key);
  return table;
}

}  // namespace

duck::Sql typed_cell(std::string_view column, const ColumnType& type, const ColumnProfile& known) {
  const Sql raw = Sql().ident(column);
  const Sql cell = known.verbatim ? raw : normalised(raw);
  if (type.type == Type::kVarchar) return cell;
  if (known.casts_as_is && known.type == type) return cast_of(cell, type, false);
  Sql sql("CASE WHEN ");
  sql.append(is_one_of(kind_of(cell), kinds_of(type.type)));
  // The cast rounds what has more digits than the type.
  if (type.type == Type::kDecimal) {
    sql.raw(" AND strlen(rtrim(split_part(").append(cell).raw(", '.', 2), '0')) <= ");
    sql.number(type.scale);
  }
  return sql.raw(" THEN ").append(cast_of(cell, type, true)).raw(" END");
}

duck::Sql sql_type(const ColumnType& type) {
  switch (type.type) {
    case Type::kVarchar:
      return Sql("VARCHAR");
    case Type::kBigint:
      return Sql("BIGINT");
    case Type::kDecimal: {
      Sql sql("DECIMAL(");
      return sql.number(type.precision).raw(", ").number(type.scale).raw(")");
    }
    case Type::kDouble:
      return Sql("DOUBLE");
    case Type::kDate:
    case Type::kMonth:
      return Sql("DATE");
    case Type::kTimestamp:
      return Sql("TIMESTAMP");
    case Type::kTimestampTz:
      return Sql("TIMESTAMPTZ");
    case Type::kBoolean:
      return Sql("BOOLEAN");
  }
  std::unreachable();
}

std::vector<TypedTable> typed_tables(const Model& model, const Profile& profile,
                                     const Sql& snapshot) {
  const TypedTables made(model, profile, snapshot);
  std::vector<TypedTable> tables;
  for (const ObjectType& type : model.types) {
    tables.push_back(type.kind == Kind::kFact ? made.fact(type) : made.dimension(type));
  }
  return tables;
}

}  // namespace strata::ontology
