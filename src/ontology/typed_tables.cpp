#include "ontology/typed_tables.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "ontology/cells_sql.h"

namespace strata::ontology {
namespace {

using duck::Sql;

Sql cast_of(const Sql& cell, const ColumnType& type) {
  if (type.type == Type::kVarchar) return cell;
  if (type.type == Type::kBoolean) {
    return Sql("lower(").append(cell).raw(") IN ('true', 'yes', 't', 'y')");
  }
  const bool is_dated =
      type.type == Type::kDate || type.type == Type::kMonth || type.type == Type::kTimestamp;
  Sql sql("TRY_CAST(");
  sql.append(is_dated ? as_iso(cell, type.type) : cell);
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

TypedTable fact(const ObjectType& type, const Sql& snapshot) {
  TypedTable table{.view = type.view, .kind = Kind::kFact, .key = {}, .columns = {}, .select = {}};
  List columns;
  const auto add = [&](const Property& property) {
    columns.next()
        .append(typed_cell(property.column, property.type))
        .raw(" AS ")
        .ident(property.name);
    table.columns.push_back({property.name, property.type});
  };
  if (type.key) add(*type.key);
  for (const Property& property : type.properties) add(property);
  columns.next().raw("filename, _batch_id");
  table.select = Sql("SELECT ").append(columns.sql()).raw(" FROM ").append(snapshot);
  return table;
}

/// The rows of `snapshot` as the type plays its role number `role` in them.
Sql in_role(const ObjectType& type, std::size_t role, const Sql& time, const Sql& snapshot) {
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
      sql.append(typed_cell(column, property.type));
    }
    sql.raw(" AS ").ident(property.name);
  };
  add(*type.key);
  for (const Property& property : type.properties) add(property);
  columns.next().append(time).raw(" AS _strata_time, filename AS _strata_file");
  return Sql("SELECT ").append(columns.sql()).raw(" FROM ").append(snapshot);
}

TypedTable dimension(const ObjectType& type, const Sql& time, const Sql& snapshot) {
  const std::string& key = type.key->name;
  TypedTable table{.view = type.view,
                   .kind = Kind::kDimension,
                   .key = key,
                   .columns = {{key, type.key->type}},
                   .select = {}};
  List columns;
  columns.next().ident(key);
  Sql conflicts;
  for (const Property& property : type.properties) {
    // A NULL inside would be greater than every time. The value itself at the end: rows that are
    // alike otherwise come in any order.
    columns.next()
        .raw("arg_max(")
        .ident(property.name)
        .raw(", (_strata_time IS NOT NULL, _strata_time, _strata_file, ")
        .ident(property.name)
        .raw(")) AS ")
        .ident(property.name);
    conflicts.raw(" + (count(DISTINCT ").ident(property.name).raw(") > 1)::INTEGER");
    table.columns.push_back({property.name, property.type});
  }
  columns.next().raw("0").append(conflicts).raw(" AS _strata_conflicts");
  Sql rows = in_role(type, 0, time, snapshot);
  for (std::size_t role = 1; role <= type.key->more_columns.size(); ++role) {
    rows.raw(" UNION ALL ").append(in_role(type, role, time, snapshot));
  }
  table.select = Sql("SELECT ")
                     .append(columns.sql())
                     .raw(" FROM (")
                     .append(rows)
                     .raw(") WHERE ")
                     .ident(key)
                     .raw(" IS NOT NULL GROUP BY ")
                     .ident(key)
                     .raw(" ORDER BY ")
                     .ident(key);
  return table;
}

}  // namespace

duck::Sql typed_cell(std::string_view column, const ColumnType& type) {
  const Sql cell = normalised(Sql().ident(column));
  if (type.type == Type::kVarchar) return cell;
  Sql sql("CASE WHEN ");
  sql.append(is_one_of(kind_of(cell), kinds_of(type.type)));
  // The cast rounds: a type is of one column, and a thing that plays several roles has more.
  if (type.type == Type::kDecimal) {
    sql.raw(" AND strlen(rtrim(split_part(").append(cell).raw(", '.', 2), '0')) <= ");
    sql.number(type.scale);
  }
  return sql.raw(" THEN ").append(cast_of(cell, type)).raw(" END");
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

std::vector<TypedTable> typed_tables(const Model& model, const Sql& snapshot) {
  const std::string ordering = time_column(model);
  const Sql time =
      ordering.empty() ? Sql("NULL::VARCHAR") : typed_cell(ordering, type_of(model, ordering));
  std::vector<TypedTable> tables;
  for (const ObjectType& type : model.types) {
    tables.push_back(type.kind == Kind::kFact ? fact(type, snapshot)
                                              : dimension(type, time, snapshot));
  }
  return tables;
}

}  // namespace strata::ontology
