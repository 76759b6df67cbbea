#include "duck/render_type.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <utility>

#include "base/cells.h"
#include "duck/handles.h"

namespace strata::duck {
namespace {

std::string take_text(char* text) {
  std::string copy = text == nullptr ? std::string() : std::string(text);
  duckdb_free(text);
  return copy;
}

/// The types without parameters.
std::string_view simple_name(duckdb_type id) {
  switch (id) {
    case DUCKDB_TYPE_BOOLEAN:
      return "BOOLEAN";
    case DUCKDB_TYPE_TINYINT:
      return "TINYINT";
    case DUCKDB_TYPE_SMALLINT:
      return "SMALLINT";
    case DUCKDB_TYPE_INTEGER:
      return "INTEGER";
    case DUCKDB_TYPE_BIGINT:
      return "BIGINT";
    case DUCKDB_TYPE_UTINYINT:
      return "UTINYINT";
    case DUCKDB_TYPE_USMALLINT:
      return "USMALLINT";
    case DUCKDB_TYPE_UINTEGER:
      return "UINTEGER";
    case DUCKDB_TYPE_UBIGINT:
      return "UBIGINT";
    case DUCKDB_TYPE_HUGEINT:
      return "HUGEINT";
    case DUCKDB_TYPE_UHUGEINT:
      return "UHUGEINT";
    case DUCKDB_TYPE_BIGNUM:
      return "BIGNUM";
    case DUCKDB_TYPE_FLOAT:
      return "FLOAT";
    case DUCKDB_TYPE_DOUBLE:
      return "DOUBLE";
    case DUCKDB_TYPE_DATE:
      return "DATE";
    case DUCKDB_TYPE_TIME:
      return "TIME";
    case DUCKDB_TYPE_TIME_NS:
      return "TIME_NS";
    case DUCKDB_TYPE_TIME_TZ:
      return "TIME WITH TIME ZONE";
    case DUCKDB_TYPE_TIMESTAMP:
      return "TIMESTAMP";
    case DUCKDB_TYPE_TIMESTAMP_S:
      return "TIMESTAMP_S";
    case DUCKDB_TYPE_TIMESTAMP_MS:
      return "TIMESTAMP_MS";
    case DUCKDB_TYPE_TIMESTAMP_NS:
      return "TIMESTAMP_NS";
    case DUCKDB_TYPE_TIMESTAMP_TZ:
      return "TIMESTAMP WITH TIME ZONE";
    case DUCKDB_TYPE_INTERVAL:
      return "INTERVAL";
    case DUCKDB_TYPE_VARCHAR:
      return "VARCHAR";
    case DUCKDB_TYPE_BLOB:
      return "BLOB";
    case DUCKDB_TYPE_BIT:
      return "BIT";
    case DUCKDB_TYPE_UUID:
      return "UUID";
    case DUCKDB_TYPE_SQLNULL:
      return "\"NULL\"";
    default:
      return {};
  }
}

std::string field_name(std::string_view name, const Keywords& keywords) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  const bool plain = name.find_first_not_of(kPlain) == std::string_view::npos &&
                     !(name[0] >= '0' && name[0] <= '9') && !keywords.contains(ascii_lower(name));
  if (plain) return std::string(name);
  std::string quoted = "\"";
  for (const char character : name) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + '"';
}

Result<void> add_child(ValueType& parent, duckdb_logical_type owned_child,
                       const Keywords& keywords) {
  const LogicalType child(owned_child);
  STRATA_ASSIGN_OR_RETURN(ValueType described, describe_type(child.get(), keywords));
  parent.children.push_back(std::move(described));
  return {};
}

Result<void> describe_fields(ValueType& described, duckdb_logical_type type,
                             const Keywords& keywords) {
  const bool is_struct = described.id == DUCKDB_TYPE_STRUCT;
  const idx_t count =
      is_struct ? duckdb_struct_type_child_count(type) : duckdb_union_type_member_count(type);
  described.name = is_struct ? "STRUCT(" : "UNION(";
  for (idx_t index = 0; index < count; ++index) {
    described.labels.push_back(take_text(is_struct ? duckdb_struct_type_child_name(type, index)
                                                   : duckdb_union_type_member_name(type, index)));
    STRATA_RETURN_IF_ERROR(add_child(described,
                                     is_struct ? duckdb_struct_type_child_type(type, index)
                                               : duckdb_union_type_member_type(type, index),
                                     keywords));
    if (index != 0) described.name += ", ";
    // The fields of row(...) have no names.
    if (!described.labels.back().empty()) {
      described.name += field_name(described.labels.back(), keywords) + ' ';
    }
    described.name += described.children.back().name;
  }
  described.name += ')';
  return {};
}

void describe_enum(ValueType& described, duckdb_logical_type type) {
  described.storage = duckdb_enum_internal_type(type);
  described.name = "ENUM(";
  const std::uint32_t count = duckdb_enum_dictionary_size(type);
  for (std::uint32_t index = 0; index < count; ++index) {
    described.labels.push_back(take_text(duckdb_enum_dictionary_value(type, index)));
    if (index != 0) described.name += ", ";
    described.name += '\'';
    for (const char character : described.labels.back()) {
      if (character == '\'') described.name += '\'';
      described.name += character;
    }
    described.name += '\'';
  }
  described.name += ')';
}

}  // namespace

Result<ValueType> describe_type(duckdb_logical_type type, const Keywords& keywords) {
  ValueType described;
  described.id = duckdb_get_type_id(type);
  switch (described.id) {
    case DUCKDB_TYPE_DECIMAL:
      described.storage = duckdb_decimal_internal_type(type);
      described.scale = duckdb_decimal_scale(type);
      described.name = fmt::format("DECIMAL({},{})", duckdb_decimal_width(type), described.scale);
      break;
    case DUCKDB_TYPE_ENUM:
      describe_enum(described, type);
      break;
    case DUCKDB_TYPE_LIST:
      STRATA_RETURN_IF_ERROR(add_child(described, duckdb_list_type_child_type(type), keywords));
      described.name = described.children[0].name + "[]";
      break;
    case DUCKDB_TYPE_ARRAY:
      STRATA_RETURN_IF_ERROR(add_child(described, duckdb_array_type_child_type(type), keywords));
      described.array_size = duckdb_array_type_array_size(type);
      described.name = fmt::format("{}[{}]", described.children[0].name, described.array_size);
      break;
    case DUCKDB_TYPE_MAP:
      STRATA_RETURN_IF_ERROR(add_child(described, duckdb_map_type_key_type(type), keywords));
      STRATA_RETURN_IF_ERROR(add_child(described, duckdb_map_type_value_type(type), keywords));
      described.name =
          fmt::format("MAP({}, {})", described.children[0].name, described.children[1].name);
      break;
    case DUCKDB_TYPE_STRUCT:
    case DUCKDB_TYPE_UNION:
      STRATA_RETURN_IF_ERROR(describe_fields(described, type, keywords));
      break;
    default:
      described.name = simple_name(described.id);
  }
  if (described.name.empty()) {
    return make_error(
        Code::kSqlError,
        "a value of this type (such as VARIANT or GEOMETRY) has no form in an answer: "
        "cast it, for example column::VARCHAR",
        fmt::format("type id {}", static_cast<int>(described.id)));
  }
  // JSON, and whatever else is stored as one type and shown under another name.
  const std::string alias = take_text(duckdb_logical_type_get_alias(type));
  if (!alias.empty()) described.name = alias;
  return described;
}

}  // namespace strata::duck
