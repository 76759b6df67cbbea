#include "ontology/profile.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/check.h"

namespace strata::ontology {
namespace {

constexpr std::uint8_t kBigintDigits = 19;
constexpr std::uint8_t kPrecisionMax = 38;

boost::json::object to_object(const ColumnType& type) {
  boost::json::object object = {{"name", type_name(type.type)}};
  if (type.type == Type::kDecimal) {
    object["precision"] = type.precision;
    object["scale"] = type.scale;
  }
  return object;
}

boost::json::array to_array(const std::vector<CountedText>& counted) {
  boost::json::array array;
  for (const auto& [text, count] : counted) array.push_back({{"text", text}, {"count", count}});
  return array;
}

boost::json::object to_object(const ColumnProfile& column) {
  boost::json::array failed;
  for (const auto& [text, batch] : column.failed) {
    failed.push_back({{"text", text}, {"batch", batch}});
  }
  return {{"column", column.column},         {"nulls", column.nulls},
          {"distinct", column.distinct},     {"top_frequency", column.top_frequency},
          {"length_min", column.length_min}, {"length_max", column.length_max},
          {"type", to_object(column.type)},  {"cast_ok", column.cast_ok},
          {"cast_fail", column.cast_fail},   {"leading_zeros", column.leading_zeros},
          {"failed", std::move(failed)},     {"top", to_array(column.top)},
          {"masks", to_array(column.masks)}};
}

}  // namespace

std::optional<ColumnType> common_type(const ColumnType& one, const ColumnType& other) {
  if (one == other) return one;
  const auto exact = [](const ColumnType& type) -> std::optional<ColumnType> {
    if (type.type == Type::kDecimal) return type;
    if (type.type != Type::kBigint) return std::nullopt;
    return ColumnType{.type = Type::kDecimal, .precision = kBigintDigits, .scale = 0};
  };
  const auto a = exact(one);
  const auto b = exact(other);
  if (!a || !b) return std::nullopt;
  const int scale = std::max(a->scale, b->scale);
  const int precision = std::max(a->precision - a->scale, b->precision - b->scale) + scale;
  if (precision > kPrecisionMax) return std::nullopt;
  return ColumnType{.type = Type::kDecimal,
                    .precision = static_cast<std::uint8_t>(precision),
                    .scale = static_cast<std::uint8_t>(scale)};
}

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kVarchar:
      return "VARCHAR";
    case Type::kBigint:
      return "BIGINT";
    case Type::kDecimal:
      return "DECIMAL";
    case Type::kDouble:
      return "DOUBLE";
    case Type::kDate:
      return "DATE";
    case Type::kMonth:
      return "MONTH";
    case Type::kTimestamp:
      return "TIMESTAMP";
    case Type::kTimestampTz:
      return "TIMESTAMPTZ";
    case Type::kBoolean:
      return "BOOLEAN";
  }
  STRATA_CHECK(false);
}

std::string to_json(const Profile& profile) {
  boost::json::array columns;
  for (const ColumnProfile& column : profile.columns) columns.push_back(to_object(column));
  return boost::json::serialize(boost::json::object{
      {"table", profile.table}, {"rows", profile.rows}, {"columns", std::move(columns)}});
}

}  // namespace strata::ontology
