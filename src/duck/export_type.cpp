#include "duck/export_type.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "duck/sql.h"
#include "duck/worker_error.h"

namespace strata::duck {
namespace {

/// For types without others inside; nothing: as it is.
std::optional<std::string> simple_cast(duckdb_type id, ResultFormat format) {
  switch (id) {
    case DUCKDB_TYPE_HUGEINT:
    case DUCKDB_TYPE_UHUGEINT:
      return "DECIMAL(38,0)";
    case DUCKDB_TYPE_BIGNUM:
    case DUCKDB_TYPE_BIT:
    case DUCKDB_TYPE_INTERVAL:
    case DUCKDB_TYPE_TIME_TZ:
    case DUCKDB_TYPE_ENUM:
    case DUCKDB_TYPE_SQLNULL:
      return "VARCHAR";
    case DUCKDB_TYPE_TIMESTAMP_S:
      // The writer's own way to the same type fails on infinity.
      if (format == ResultFormat::kParquet) return "TIMESTAMP";
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

Result<void> check_form(const ValueType& type) {
  if (type.id == DUCKDB_TYPE_UNION) {
    return make_error(Code::kSqlError,
                      "a UNION has no form in Parquet and Arrow: take one of its members, as in "
                      "union_extract(column, 'member'), or cast it to VARCHAR");
  }
  if (type.id != DUCKDB_TYPE_STRUCT) return {};
  for (const std::string& label : type.labels) {
    if (label.empty() || label.find('\0') != std::string::npos) {
      return make_error(Code::kSqlError,
                        "a struct without field names has no form in Parquet and Arrow: name its "
                        "fields, as in {'a': x}");
    }
  }
  return {};
}

std::string fields(const std::vector<std::string>& labels, const std::vector<std::string>& types) {
  std::string all;
  for (std::size_t index = 0; index < types.size(); ++index) {
    if (index != 0) all += ", ";
    all += Sql().ident(labels[index]).str() + ' ' + types[index];
  }
  return all;
}

}  // namespace

bool is_export(ResultFormat format) {
  return format == ResultFormat::kParquet || format == ResultFormat::kArrow;
}

Result<std::optional<std::string>> export_cast(const ValueType& type, ResultFormat format) {
  STRATA_RETURN_IF_ERROR(check_form(type));
  if (auto cast = simple_cast(type.id, format)) return cast;
  const bool becomes_list = type.id == DUCKDB_TYPE_ARRAY && format == ResultFormat::kParquet;
  bool changed = becomes_list;
  std::vector<std::string> inside;
  for (const ValueType& child : type.children) {
    STRATA_ASSIGN_OR_RETURN(const auto cast, export_cast(child, format));
    changed = changed || cast.has_value();
    inside.push_back(cast.value_or(child.name));
  }
  if (!changed) return std::optional<std::string>();
  switch (type.id) {
    case DUCKDB_TYPE_LIST:
      return std::optional(inside[0] + "[]");
    case DUCKDB_TYPE_ARRAY:
      return std::optional(becomes_list ? inside[0] + "[]"
                                        : fmt::format("{}[{}]", inside[0], type.array_size));
    case DUCKDB_TYPE_MAP:
      return std::optional(fmt::format("MAP({}, {})", inside[0], inside[1]));
    default:
      return std::optional(fmt::format("STRUCT({})", fields(type.labels, inside)));
  }
}

Result<std::optional<std::string>> export_selection(const std::vector<RenderedColumn>& columns,
                                                    ResultFormat format) {
  std::string selected;
  bool changed = false;
  for (std::size_t index = 0; index < columns.size(); ++index) {
    const auto cast = export_cast(columns[index].type, format);
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
