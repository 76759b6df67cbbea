#include "duck/export_type.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "duck/sql.h"
#include "duck/worker_error.h"

namespace strata::duck {
namespace {

/// For types without others inside; nothing: as it is.
std::optional<std::string> simple_cast(duckdb_type id) {
  switch (id) {
    case DUCKDB_TYPE_HUGEINT:
    case DUCKDB_TYPE_UHUGEINT:
      return "DECIMAL(38,0)";
    case DUCKDB_TYPE_UNION:
      return "JSON";
    case DUCKDB_TYPE_BIGNUM:
    case DUCKDB_TYPE_BIT:
    case DUCKDB_TYPE_INTERVAL:
    case DUCKDB_TYPE_TIME_TZ:
    case DUCKDB_TYPE_ENUM:
    case DUCKDB_TYPE_SQLNULL:
      return "VARCHAR";
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<std::optional<std::string>> export_cast(const ValueType& type) {
  if (auto cast = simple_cast(type.id)) return cast;
  std::vector<std::string> inside;
  bool changed = false;
  for (const ValueType& child : type.children) {
    STRATA_ASSIGN_OR_RETURN(const auto cast, export_cast(child));
    changed = changed || cast.has_value();
    inside.push_back(cast.value_or(child.name));
  }
  if (!changed) return std::optional<std::string>();
  switch (type.id) {
    case DUCKDB_TYPE_LIST:
      return std::optional(inside[0] + "[]");
    case DUCKDB_TYPE_ARRAY:
      return std::optional(fmt::format("{}[{}]", inside[0], type.array_size));
    case DUCKDB_TYPE_MAP:
      return std::optional(fmt::format("MAP({}, {})", inside[0], inside[1]));
    default:
      break;
  }
  std::string fields;
  for (std::size_t index = 0; index < inside.size(); ++index) {
    const std::string& name = type.labels[index];
    if (name.empty() || name.find('\0') != std::string::npos) {
      return make_error(Code::kSqlError,
                        fmt::format("a struct without field names cannot hold {} in Parquet and "
                                    "Arrow: name its fields, as in {{'a': x}}",
                                    type.children[index].name));
    }
    fields +=
        fmt::format("{}{} {}", index == 0 ? "" : ", ", Sql().ident(name).str(), inside[index]);
  }
  return std::optional(fmt::format("STRUCT({})", fields));
}

Result<std::optional<std::string>> export_selection(const std::vector<RenderedColumn>& columns) {
  std::string selected;
  bool changed = false;
  for (std::size_t index = 0; index < columns.size(); ++index) {
    const auto cast = export_cast(columns[index].type);
    if (!cast) return in_column(columns[index].name, cast.error());
    changed = changed || cast->has_value();
    // By its place: two columns may have one name.
    const std::string column = fmt::format("#{}", index + 1);
    selected += index == 0 ? "" : ", ";
    selected += *cast ? fmt::format("CAST({} AS {})", column, **cast) : column;
  }
  if (!changed) return std::optional<std::string>();
  return std::optional(std::move(selected));
}

}  // namespace strata::duck
