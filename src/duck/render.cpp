#include "duck/render.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/cells.h"
#include "duck/render_scalar.h"
#include "duck/render_text.h"
#include "duck/worker_connection.h"

namespace strata::duck {
namespace {

Int128 join(const duckdb_hugeint& value) {
  return static_cast<Int128>(static_cast<Uint128>(static_cast<std::uint64_t>(value.upper)) << 64U |
                             value.lower);
}

/// One vector of one chunk, read in place: where its values are is asked of the library once per
/// chunk, never per value.
class ValueReader {
 public:
  ValueReader(const ValueType& type, duckdb_vector vector)
      : type_(&type),
        data_(duckdb_vector_get_data(vector)),
        validity_(duckdb_vector_get_validity(vector)) {
    bind_children(vector);
  }

  void append_json(std::string& out, std::uint64_t row) const;
  void append_csv(std::string& out, std::uint64_t row) const;

 private:
  /// How the text of a value stands in JSON.
  enum class Form : std::uint8_t { kBare, kQuoted };

  void bind_children(duckdb_vector vector);

  template <typename Value>
  const Value& at(std::uint64_t row) const {
    return static_cast<const Value*>(data_)[row];
  }
  bool is_null(std::uint64_t row) const {
    return validity_ != nullptr && (validity_[row / 64] >> (row % 64) & 1U) == 0;
  }
  bool is_nested() const;
  std::string_view bytes_at(std::uint64_t row) const;
  std::uint64_t label_index(std::uint64_t row) const;

  Form append_scalar(std::string& out, std::uint64_t row) const;
  Form append_number(std::string& out, std::uint64_t row) const;
  Form append_integer(std::string& out, std::int64_t value) const;
  void append_moment(std::string& out, std::uint64_t row) const;
  Int128 decimal_at(std::uint64_t row) const;

  void append_nested(std::string& out, std::uint64_t row) const;
  void append_elements(std::string& out, std::uint64_t begin, std::uint64_t count) const;
  void append_map(std::string& out, const duckdb_list_entry& entry) const;
  void append_struct(std::string& out, std::uint64_t row) const;
  void append_union(std::string& out, std::uint64_t row) const;

  const ValueType* type_;
  const void* data_;
  const std::uint64_t* validity_;
  std::vector<ValueReader> children_;
};

void ValueReader::bind_children(duckdb_vector vector) {
  children_.reserve(type_->children.size());
  switch (type_->id) {
    case DUCKDB_TYPE_LIST:
      children_.emplace_back(type_->children[0], duckdb_list_vector_get_child(vector));
      break;
    case DUCKDB_TYPE_ARRAY:
      children_.emplace_back(type_->children[0], duckdb_array_vector_get_child(vector));
      break;
    case DUCKDB_TYPE_MAP: {
      // Stored as a list of structs of key and value.
      const duckdb_vector entries = duckdb_list_vector_get_child(vector);
      children_.emplace_back(type_->children[0], duckdb_struct_vector_get_child(entries, 0));
      children_.emplace_back(type_->children[1], duckdb_struct_vector_get_child(entries, 1));
      break;
    }
    case DUCKDB_TYPE_STRUCT:
      for (std::size_t index = 0; index < type_->children.size(); ++index) {
        children_.emplace_back(type_->children[index],
                               duckdb_struct_vector_get_child(vector, index));
      }
      break;
    case DUCKDB_TYPE_UNION:
      // Stored as a struct whose first field is the tag.
      data_ = duckdb_vector_get_data(duckdb_struct_vector_get_child(vector, 0));
      for (std::size_t index = 0; index < type_->children.size(); ++index) {
        children_.emplace_back(type_->children[index],
                               duckdb_struct_vector_get_child(vector, index + 1));
      }
      break;
    default:
      break;
  }
}

bool ValueReader::is_nested() const {
  switch (type_->id) {
    case DUCKDB_TYPE_LIST:
    case DUCKDB_TYPE_ARRAY:
    case DUCKDB_TYPE_MAP:
    case DUCKDB_TYPE_STRUCT:
    case DUCKDB_TYPE_UNION:
      return true;
    default:
      return false;
  }
}

std::string_view ValueReader::bytes_at(std::uint64_t row) const {
  return string_view_of(at<duckdb_string_t>(row));
}

std::uint64_t ValueReader::label_index(std::uint64_t row) const {
  switch (type_->storage) {
    case DUCKDB_TYPE_UTINYINT:
      return at<std::uint8_t>(row);
    case DUCKDB_TYPE_USMALLINT:
      return at<std::uint16_t>(row);
    default:
      return at<std::uint32_t>(row);
  }
}

Int128 ValueReader::decimal_at(std::uint64_t row) const {
  switch (type_->storage) {
    case DUCKDB_TYPE_SMALLINT:
      return at<std::int16_t>(row);
    case DUCKDB_TYPE_INTEGER:
      return at<std::int32_t>(row);
    case DUCKDB_TYPE_BIGINT:
      return at<std::int64_t>(row);
    default:
      return join(at<duckdb_hugeint>(row));
  }
}

ValueReader::Form ValueReader::append_integer(std::string& out, std::int64_t value) const {
  // Beyond this a reader that holds numbers as doubles would show another number.
  constexpr std::int64_t kExactInDoubleMax = std::int64_t{1} << 53U;
  fmt::format_to(std::back_inserter(out), "{}", value);
  return value >= -kExactInDoubleMax && value <= kExactInDoubleMax ? Form::kBare : Form::kQuoted;
}

ValueReader::Form ValueReader::append_number(std::string& out, std::uint64_t row) const {
  switch (type_->id) {
    case DUCKDB_TYPE_TINYINT:
      return append_integer(out, at<std::int8_t>(row));
    case DUCKDB_TYPE_SMALLINT:
      return append_integer(out, at<std::int16_t>(row));
    case DUCKDB_TYPE_INTEGER:
      return append_integer(out, at<std::int32_t>(row));
    case DUCKDB_TYPE_BIGINT:
      return append_integer(out, at<std::int64_t>(row));
    case DUCKDB_TYPE_UTINYINT:
      return append_integer(out, at<std::uint8_t>(row));
    case DUCKDB_TYPE_USMALLINT:
      return append_integer(out, at<std::uint16_t>(row));
    case DUCKDB_TYPE_UINTEGER:
      return append_integer(out, at<std::uint32_t>(row));
    case DUCKDB_TYPE_UBIGINT: {
      const auto value = at<std::uint64_t>(row);
      if (value >> 63U == 0) return append_integer(out, static_cast<std::int64_t>(value));
      append_uint128(out, value);
      return Form::kQuoted;
    }
    case DUCKDB_TYPE_FLOAT:
      append_float(out, at<float>(row));
      return std::isfinite(at<float>(row)) ? Form::kBare : Form::kQuoted;
    case DUCKDB_TYPE_DOUBLE:
      append_double(out, at<double>(row));
      return std::isfinite(at<double>(row)) ? Form::kBare : Form::kQuoted;
    case DUCKDB_TYPE_HUGEINT:
      append_int128(out, join(at<duckdb_hugeint>(row)));
      break;
    case DUCKDB_TYPE_UHUGEINT: {
      const auto& value = at<duckdb_uhugeint>(row);
      append_uint128(out, static_cast<Uint128>(value.upper) << 64U | value.lower);
      break;
    }
    case DUCKDB_TYPE_BIGNUM:
      append_bignum(out, bytes_at(row));
      break;
    default:
      append_decimal(out, decimal_at(row), type_->scale);
  }
  return Form::kQuoted;
}

void ValueReader::append_moment(std::string& out, std::uint64_t row) const {
  constexpr std::int64_t kMicros = 1'000'000;
  constexpr std::int64_t kNanos = 1'000'000'000;
  switch (type_->id) {
    case DUCKDB_TYPE_DATE:
      append_date(out, at<std::int32_t>(row));
      break;
    case DUCKDB_TYPE_TIME:
      append_time(out, at<std::int64_t>(row), kMicros);
      break;
    case DUCKDB_TYPE_TIME_NS:
      append_time(out, at<std::int64_t>(row), kNanos);
      break;
    case DUCKDB_TYPE_TIME_TZ:
      append_time_tz(out, at<std::uint64_t>(row));
      break;
    case DUCKDB_TYPE_TIMESTAMP_S:
      append_timestamp(out, at<std::int64_t>(row), 1);
      break;
    case DUCKDB_TYPE_TIMESTAMP_MS:
      append_timestamp(out, at<std::int64_t>(row), 1'000);
      break;
    case DUCKDB_TYPE_TIMESTAMP_NS:
      append_timestamp(out, at<std::int64_t>(row), kNanos);
      break;
    case DUCKDB_TYPE_TIMESTAMP_TZ: {
      const std::size_t begin = out.size();
      append_timestamp(out, at<std::int64_t>(row), kMicros);
      if (out.find("inf", begin) == std::string::npos) out += 'Z';
      break;
    }
    default:
      append_timestamp(out, at<std::int64_t>(row), kMicros);
  }
}

ValueReader::Form ValueReader::append_scalar(std::string& out, std::uint64_t row) const {
  switch (type_->id) {
    case DUCKDB_TYPE_BOOLEAN:
      out += at<bool>(row) ? "true" : "false";
      return Form::kBare;
    case DUCKDB_TYPE_BLOB:
      append_base64(out, bytes_at(row));
      break;
    case DUCKDB_TYPE_BIT:
      append_bit(out, bytes_at(row));
      break;
    case DUCKDB_TYPE_UUID:
      append_uuid(out, join(at<duckdb_hugeint>(row)));
      break;
    case DUCKDB_TYPE_INTERVAL: {
      const auto& value = at<duckdb_interval>(row);
      append_interval(out, {.months = value.months, .days = value.days, .micros = value.micros});
      break;
    }
    case DUCKDB_TYPE_DATE:
    case DUCKDB_TYPE_TIME:
    case DUCKDB_TYPE_TIME_NS:
    case DUCKDB_TYPE_TIME_TZ:
    case DUCKDB_TYPE_TIMESTAMP:
    case DUCKDB_TYPE_TIMESTAMP_S:
    case DUCKDB_TYPE_TIMESTAMP_MS:
    case DUCKDB_TYPE_TIMESTAMP_NS:
    case DUCKDB_TYPE_TIMESTAMP_TZ:
      append_moment(out, row);
      break;
    default:
      return append_number(out, row);
  }
  return Form::kQuoted;
}

void ValueReader::append_json(std::string& out, std::uint64_t row) const {
  if (is_null(row)) {
    out += "null";
  } else if (is_nested()) {
    append_nested(out, row);
  } else if (type_->id == DUCKDB_TYPE_VARCHAR) {
    append_json_string(out, bytes_at(row));
  } else if (type_->id == DUCKDB_TYPE_ENUM) {
    append_json_string(out, type_->labels.at(label_index(row)));
  } else {
    // None of the other scalars has a character that JSON wants escaped.
    const std::size_t begin = out.size();
    if (append_scalar(out, row) == Form::kQuoted) {
      out.insert(begin, 1, '"');
      out += '"';
    }
  }
}

void ValueReader::append_csv(std::string& out, std::uint64_t row) const {
  if (is_null(row)) return;
  if (is_nested()) {
    std::string json;
    append_nested(json, row);
    append_csv_field(out, json);
  } else if (type_->id == DUCKDB_TYPE_VARCHAR) {
    append_csv_field(out, bytes_at(row));
  } else if (type_->id == DUCKDB_TYPE_ENUM) {
    append_csv_field(out, type_->labels.at(label_index(row)));
  } else {
    // No other scalar needs quotes, but a BLOB or BIT may be empty.
    const std::size_t begin = out.size();
    append_scalar(out, row);
    if (out.size() == begin) out += "\"\"";
  }
}

void ValueReader::append_nested(std::string& out, std::uint64_t row) const {
  switch (type_->id) {
    case DUCKDB_TYPE_LIST: {
      const auto& entry = at<duckdb_list_entry>(row);
      append_elements(out, entry.offset, entry.length);
      break;
    }
    case DUCKDB_TYPE_ARRAY:
      append_elements(out, row * type_->array_size, type_->array_size);
      break;
    case DUCKDB_TYPE_MAP:
      append_map(out, at<duckdb_list_entry>(row));
      break;
    case DUCKDB_TYPE_STRUCT:
      append_struct(out, row);
      break;
    default:
      append_union(out, row);
  }
}

void ValueReader::append_elements(std::string& out, std::uint64_t begin,
                                  std::uint64_t count) const {
  out += '[';
  for (std::uint64_t index = 0; index < count; ++index) {
    if (index != 0) out += ',';
    children_[0].append_json(out, begin + index);
  }
  out += ']';
}

void ValueReader::append_map(std::string& out, const duckdb_list_entry& entry) const {
  out += '{';
  for (std::uint64_t index = 0; index < entry.length; ++index) {
    if (index != 0) out += ',';
    // A JSON key is a string: a key of another type is its text, one inside another its JSON.
    std::string key;
    children_[0].append_json(key, entry.offset + index);
    if (key[0] == '"') {
      out += key;
    } else {
      append_json_string(out, key);
    }
    out += ':';
    children_[1].append_json(out, entry.offset + index);
  }
  out += '}';
}

void ValueReader::append_struct(std::string& out, std::uint64_t row) const {
  // row(...) makes a struct whose fields have no names.
  const bool named = type_->labels.empty() || !type_->labels[0].empty();
  out += named ? '{' : '[';
  for (std::size_t index = 0; index < children_.size(); ++index) {
    if (index != 0) out += ',';
    if (named) {
      append_json_string(out, type_->labels[index]);
      out += ':';
    }
    children_[index].append_json(out, row);
  }
  out += named ? '}' : ']';
}

void ValueReader::append_union(std::string& out, std::uint64_t row) const {
  const std::size_t member = at<std::uint8_t>(row);
  out += '{';
  append_json_string(out, type_->labels.at(member));
  out += ':';
  children_[member].append_json(out, row);
  out += '}';
}

}  // namespace

std::vector<std::string> unique_names(const std::vector<RenderedColumn>& columns, bool fold_case) {
  const auto folded = [fold_case](const std::string& name) {
    return fold_case ? ascii_lower(name) : name;
  };
  std::set<std::string, std::less<>> taken;
  for (const RenderedColumn& column : columns) taken.insert(folded(column.name));
  std::set<std::string, std::less<>> used;
  std::vector<std::string> names;
  for (const RenderedColumn& column : columns) {
    std::string name = column.name;
    for (std::size_t suffix = 1; used.contains(folded(name)); ++suffix) {
      name = fmt::format("{}_{}", column.name, suffix);
      // Never takes the name of a column that really has it.
      if (taken.contains(folded(name))) name = column.name;
    }
    used.insert(folded(name));
    names.push_back(std::move(name));
  }
  return names;
}

RowRenderer::RowRenderer(ResultFormat format, std::vector<RenderedColumn> columns)
    : format_(format), columns_(std::move(columns)) {
  if (format_ != ResultFormat::kNdjson) return;
  for (const std::string& name : unique_names(columns_, false)) {
    std::string& key = keys_.emplace_back();
    append_json_string(key, name);
    key += ':';
  }
}

Result<void> RowRenderer::append_start(std::string& out) {
  if (format_ != ResultFormat::kCsv) return {};
  for (std::size_t index = 0; index < columns_.size(); ++index) {
    if (index != 0) out += ',';
    append_csv_field(out, columns_[index].name);
  }
  out += "\r\n";
  return {};
}

Result<void> RowRenderer::append_end(std::string&) { return {}; }

Result<void> RowRenderer::append_rows(duckdb_data_chunk chunk, std::uint64_t begin,
                                      std::uint64_t end, std::string& out) {
  std::vector<ValueReader> readers;
  readers.reserve(columns_.size());
  for (std::size_t index = 0; index < columns_.size(); ++index) {
    readers.emplace_back(columns_[index].type, duckdb_data_chunk_get_vector(chunk, index));
  }
  for (std::uint64_t row = begin; row < end; ++row) {
    if (format_ == ResultFormat::kJson) out += first_row_ ? "[" : ",[";
    if (format_ == ResultFormat::kNdjson) out += '{';
    for (std::size_t index = 0; index < readers.size(); ++index) {
      if (index != 0) out += ',';
      if (format_ == ResultFormat::kNdjson) out += keys_[index];
      if (format_ == ResultFormat::kCsv) {
        readers[index].append_csv(out, row);
      } else {
        readers[index].append_json(out, row);
      }
    }
    if (format_ == ResultFormat::kJson) out += ']';
    if (format_ == ResultFormat::kNdjson) out += "}\n";
    if (format_ == ResultFormat::kCsv) out += "\r\n";
    first_row_ = false;
  }
  return {};
}

}  // namespace strata::duck
