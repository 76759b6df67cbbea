#include "duck/arrow_stream.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/little_endian.h"
#include "duck/arrow_abi.h"
#include "duck/worker_error.h"

namespace strata::duck {
namespace {

// Buffers go out as they lie in memory.
static_assert(std::endian::native == std::endian::little);

using Builder = flatbuffers::FlatBufferBuilder;
using Reference = flatbuffers::Offset<void>;

/// The place of a table's member number `index`, as FlatBuffers counts.
constexpr flatbuffers::voffset_t slot(unsigned index) {
  return static_cast<flatbuffers::voffset_t>(4 + 2 * index);
}

// The numbers of Arrow's Message.fbs and Schema.fbs.
constexpr std::int16_t kMetadataV5 = 4;
enum class Header : std::uint8_t { kSchema = 1, kRecordBatch = 3 };
enum class TypeId : std::uint8_t {
  kNull = 1,
  kInt = 2,
  kFloatingPoint = 3,
  kBinary = 4,
  kUtf8 = 5,
  kBool = 6,
  kDecimal = 7,
  kDate = 8,
  kTime = 9,
  kTimestamp = 10,
  kList = 12,
  kStruct = 13,
  kFixedSizeList = 16,
  kMap = 17,
};
enum class TimeUnit : std::int16_t { kSecond, kMillisecond, kMicrosecond, kNanosecond };

// Message.fbs: the two structs of a record batch.
struct FieldNode {
  std::int64_t length;
  std::int64_t null_count;
};
struct BufferPlace {
  std::int64_t offset;
  std::int64_t length;
};

/// How a type's values lie in their buffers, behind the one of the NULLs.
enum class Layout : std::uint8_t { kNone, kBits, kFixed, kText, kList, kFixedList, kFields };

/// A field as the C data interface describes it, read.
struct Field {
  std::string name{};
  bool nullable = false;
  TypeId id = TypeId::kNull;
  Layout layout = Layout::kNone;
  std::int32_t width = 0;      // kFixed: bytes of a value; kFixedList: values of a list
  bool is_signed = false;      // kInt
  std::int32_t precision = 0;  // kDecimal; kFloatingPoint: 1 single, 2 double
  std::int32_t scale = 0;      // kDecimal
  std::int16_t unit = 0;       // kDate, kTime, kTimestamp
  std::string zone{};          // kTimestamp
  std::vector<Field> children{};
};

Error unknown(std::string_view what) {
  return make_error(Code::kInternal, "the answer could not be written as Arrow",
                    fmt::format("the engine's export: {}", what));
}

std::optional<std::int32_t> number_of(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Field int_type(std::int32_t width, bool is_signed) {
  return {.id = TypeId::kInt, .layout = Layout::kFixed, .width = width, .is_signed = is_signed};
}

std::optional<Field> type_of_letter(char letter) {
  switch (letter) {
    case 'n':
      return Field{.id = TypeId::kNull};
    case 'b':
      return Field{.id = TypeId::kBool, .layout = Layout::kBits};
    case 'c':
      return int_type(1, true);
    case 's':
      return int_type(2, true);
    case 'i':
      return int_type(4, true);
    case 'l':
      return int_type(8, true);
    case 'C':
      return int_type(1, false);
    case 'S':
      return int_type(2, false);
    case 'I':
      return int_type(4, false);
    case 'L':
      return int_type(8, false);
    case 'f':
      return Field{
          .id = TypeId::kFloatingPoint, .layout = Layout::kFixed, .width = 4, .precision = 1};
    case 'g':
      return Field{
          .id = TypeId::kFloatingPoint, .layout = Layout::kFixed, .width = 8, .precision = 2};
    case 'u':
      return Field{.id = TypeId::kUtf8, .layout = Layout::kText};
    case 'z':
      return Field{.id = TypeId::kBinary, .layout = Layout::kText};
    default:
      return std::nullopt;
  }
}

std::optional<TimeUnit> unit_of_letter(char letter) {
  constexpr std::string_view kLetters = "smun";
  const std::size_t place = kLetters.find(letter);
  if (place == std::string_view::npos) return std::nullopt;
  return static_cast<TimeUnit>(place);
}

/// `d:18,3`, or with the bits of a value behind it: `d:18,3,128`.
std::optional<Field> decimal_type(std::string_view format) {
  std::array<std::int32_t, 3> numbers{0, 0, 128};
  std::size_t begin = 2;
  for (std::int32_t& number : numbers) {
    if (begin > format.size()) break;
    const std::size_t end = std::min(format.find(',', begin), format.size());
    const auto read = number_of(format.substr(begin, end - begin));
    if (!read) return std::nullopt;
    number = *read;
    begin = end + 1;
  }
  return Field{.id = TypeId::kDecimal,
               .layout = Layout::kFixed,
               .width = numbers[2] / 8,
               .precision = numbers[0],
               .scale = numbers[1]};
}

/// `tdD`, `ttu`, `tsu:UTC`.
std::optional<Field> time_type(std::string_view format) {
  if (format == "tdD") return Field{.id = TypeId::kDate, .layout = Layout::kFixed, .width = 4};
  const auto unit = unit_of_letter(format.size() > 2 ? format[2] : '\0');
  if (!unit) return std::nullopt;
  Field type{.layout = Layout::kFixed, .width = 8, .unit = static_cast<std::int16_t>(*unit)};
  if (format.starts_with("tt") && format.size() == 3) {
    type.id = TypeId::kTime;
    if (*unit <= TimeUnit::kMillisecond) type.width = 4;
    return type;
  }
  if (!format.starts_with("ts") || format.size() < 4 || format[3] != ':') return std::nullopt;
  type.id = TypeId::kTimestamp;
  type.zone = format.substr(4);
  return type;
}

std::optional<Field> nested_type(std::string_view format) {
  if (format == "+l") return Field{.id = TypeId::kList, .layout = Layout::kList};
  if (format == "+s") return Field{.id = TypeId::kStruct, .layout = Layout::kFields};
  if (format == "+m") return Field{.id = TypeId::kMap, .layout = Layout::kList};
  if (!format.starts_with("+w:")) return std::nullopt;
  const auto width = number_of(format.substr(3));
  if (!width) return std::nullopt;
  return Field{.id = TypeId::kFixedSizeList, .layout = Layout::kFixedList, .width = *width};
}

Result<std::vector<Field>> read_children(const ArrowSchema& schema);

Result<Field> read_field(const ArrowSchema& schema) {
  const std::string_view format(schema.format);
  std::optional<Field> field;
  if (schema.dictionary == nullptr && format.size() == 1) field = type_of_letter(format[0]);
  if (format.starts_with("d:")) field = decimal_type(format);
  if (format.starts_with('t')) field = time_type(format);
  if (format.starts_with('+')) field = nested_type(format);
  if (!field) return unknown(format);
  constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE
  if (schema.name != nullptr) field->name = schema.name;
  field->nullable = (schema.flags & kNullable) != 0;
  STRATA_ASSIGN_OR_RETURN(field->children, read_children(schema));
  return *std::move(field);
}

Result<std::vector<Field>> read_children(const ArrowSchema& schema) {
  std::vector<Field> children;
  for (std::int64_t index = 0; index < schema.n_children; ++index) {
    STRATA_ASSIGN_OR_RETURN(Field child, read_field(*schema.children[index]));
    children.push_back(std::move(child));
  }
  return children;
}

// --- The schema ---------------------------------------------------------------------------------

Reference write_type(Builder& builder, const Field& type) {
  flatbuffers::Offset<flatbuffers::String> zone;
  if (!type.zone.empty()) zone = builder.CreateString(type.zone);
  const auto start = builder.StartTable();
  switch (type.id) {
    case TypeId::kInt:
      builder.AddElement<std::int32_t>(slot(0), type.width * 8, 0);
      builder.AddElement<std::uint8_t>(slot(1), type.is_signed ? 1 : 0, 0);
      break;
    case TypeId::kFloatingPoint:
      builder.AddElement<std::int16_t>(slot(0), static_cast<std::int16_t>(type.precision), 0);
      break;
    case TypeId::kDecimal:
      builder.AddElement<std::int32_t>(slot(0), type.precision, 0);
      builder.AddElement<std::int32_t>(slot(1), type.scale, 0);
      builder.AddElement<std::int32_t>(slot(2), type.width * 8, 128);
      break;
    case TypeId::kDate:
      builder.AddElement<std::int16_t>(slot(0), type.unit, 1);
      break;
    case TypeId::kTime:
      builder.AddElement<std::int16_t>(slot(0), type.unit, 1);
      builder.AddElement<std::int32_t>(slot(1), type.width * 8, 32);
      break;
    case TypeId::kTimestamp:
      builder.AddElement<std::int16_t>(slot(0), type.unit, 0);
      if (!zone.IsNull()) builder.AddOffset(slot(1), zone);
      break;
    case TypeId::kFixedSizeList:
      builder.AddElement<std::int32_t>(slot(0), type.width, 0);
      break;
    default:  // no parameters
      break;
  }
  return Reference(builder.EndTable(start));
}

flatbuffers::Offset<flatbuffers::Vector<Reference>> write_fields(Builder& builder,
                                                                 const std::vector<Field>& fields);

Reference write_field(Builder& builder, const Field& field) {
  const auto children = write_fields(builder, field.children);
  const auto name = builder.CreateString(field.name);
  const auto type_table = write_type(builder, field);
  const auto start = builder.StartTable();
  builder.AddOffset(slot(0), name);
  builder.AddElement<std::uint8_t>(slot(1), field.nullable ? 1 : 0, 0);
  builder.AddElement<std::uint8_t>(slot(2), static_cast<std::uint8_t>(field.id), 0);
  builder.AddOffset(slot(3), type_table);
  builder.AddOffset(slot(5), children);
  return Reference(builder.EndTable(start));
}

flatbuffers::Offset<flatbuffers::Vector<Reference>> write_fields(Builder& builder,
                                                                 const std::vector<Field>& fields) {
  std::vector<Reference> written;
  for (const Field& field : fields) written.push_back(write_field(builder, field));
  return builder.CreateVector(written);
}

// --- Messages -----------------------------------------------------------------------------------

/// What is missing to a multiple of eight.
std::size_t padding(std::size_t size) { return (8 - size % 8) % 8; }

void append_int32(std::string& out, std::uint64_t value) {
  const auto bytes = little_endian_32(value);
  out.append(bytes.data(), bytes.size());
}

constexpr std::uint64_t kContinuation = 0xFFFFFFFF;

/// `header` and a body that is padded already, as one encapsulated message.
void append_message(std::string& out, Builder& builder, Header kind, Reference header,
                    std::string_view body) {
  const auto start = builder.StartTable();
  builder.AddElement<std::int16_t>(slot(0), kMetadataV5, 0);
  builder.AddElement<std::uint8_t>(slot(1), static_cast<std::uint8_t>(kind), 0);
  builder.AddOffset(slot(2), header);
  builder.AddElement<std::int64_t>(slot(3), static_cast<std::int64_t>(body.size()), 0);
  builder.Finish(Reference(builder.EndTable(start)));
  const std::size_t size = builder.GetSize();
  append_int32(out, kContinuation);
  append_int32(out, size + padding(size));
  out.append(reinterpret_cast<const char*>(builder.GetBufferPointer()), size);
  out.append(padding(size), '\0');
  out += body;
}

/// The buffers of a chunk, collected field by field in the order of the schema.
class Body {
 public:
  Result<void> add(const Field& field, const ArrowArray& array) {
    if (array.offset != 0) return unknown("an array that begins elsewhere");
    if (array.null_count < 0) return unknown("an array whose NULLs are not counted");
    nodes_.push_back({.length = array.length, .null_count = array.null_count});
    // A type without values has no buffer even for its NULLs.
    if (field.layout != Layout::kNone) add_nulls(array);
    const auto length = static_cast<std::size_t>(array.length);
    switch (field.layout) {
      case Layout::kBits:
        add_buffer(array.buffers[1], (length + 7) / 8);
        break;
      case Layout::kFixed:
        add_buffer(array.buffers[1], length * static_cast<std::size_t>(field.width));
        break;
      case Layout::kText:
        add_buffer(array.buffers[2], add_offsets(array));
        break;
      case Layout::kList:
        static_cast<void>(add_offsets(array));
        break;
      case Layout::kNone:
      case Layout::kFixedList:
      case Layout::kFields:
        break;
    }
    return add_children(field.children, array);
  }

  /// `array` holds an array for each of `fields`.
  Result<void> add_children(const std::vector<Field>& fields, const ArrowArray& array) {
    if (static_cast<std::size_t>(array.n_children) != fields.size()) {
      return unknown("an array of another shape");
    }
    for (std::size_t index = 0; index < fields.size(); ++index) {
      STRATA_RETURN_IF_ERROR(add(fields[index], *array.children[index]));
    }
    return {};
  }

  void append_to(std::string& out, std::int64_t rows) const {
    Builder builder;
    const auto nodes = builder.CreateVectorOfStructs(nodes_);
    const auto places = builder.CreateVectorOfStructs(places_);
    const auto start = builder.StartTable();
    builder.AddElement<std::int64_t>(slot(0), rows, 0);
    builder.AddOffset(slot(1), nodes);
    builder.AddOffset(slot(2), places);
    const Reference batch(builder.EndTable(start));
    append_message(out, builder, Header::kRecordBatch, batch, bytes_);
  }

 private:
  void add_nulls(const ArrowArray& array) {
    const bool none = array.null_count == 0 || array.buffers[0] == nullptr;
    add_buffer(array.buffers[0], none ? 0 : (static_cast<std::size_t>(array.length) + 7) / 8);
  }

  /// The number behind the last value: how long what they point into is.
  std::size_t add_offsets(const ArrowArray& array) {
    const auto* const offsets = static_cast<const std::int32_t*>(array.buffers[1]);
    if (offsets == nullptr || array.length == 0) {  // an empty array may come without any
      constexpr std::int32_t kZero = 0;
      add_buffer(&kZero, sizeof(kZero));
      return 0;
    }
    const auto length = static_cast<std::size_t>(array.length);
    add_buffer(offsets, (length + 1) * sizeof(std::int32_t));
    return static_cast<std::size_t>(offsets[length]);
  }

  void add_buffer(const void* bytes, std::size_t size) {
    places_.push_back({.offset = static_cast<std::int64_t>(bytes_.size()),
                       .length = static_cast<std::int64_t>(size)});
    if (size == 0) return;
    bytes_.append(static_cast<const char*>(bytes), size);
    bytes_.append(padding(size), '\0');
  }

  std::vector<FieldNode> nodes_;
  std::vector<BufferPlace> places_;
  std::string bytes_;
};

// --- The stream ---------------------------------------------------------------------------------

using ArrowOptions = Owned<duckdb_arrow_options, duckdb_destroy_arrow_options>;
using ErrorData = Owned<duckdb_error_data, duckdb_destroy_error_data>;

Result<void> checked(const ErrorData& error, std::uint64_t memory_bytes) {
  if (!duckdb_error_data_has_error(error.get())) return {};
  const std::string_view why(duckdb_error_data_message(error.get()));
  const auto tells = [why](std::string_view part) {
    return why.find(part) != std::string_view::npos;
  };
  // A text column of one chunk may hold 2 GiB: its places have 32 bits.
  if (duckdb_error_data_error_type(error.get()) == DUCKDB_ERROR_OUT_OF_MEMORY ||
      tells("failed to allocate") || tells("bad_alloc") || tells("maximum total string size")) {
    return out_of_memory_error(memory_bytes, std::string(why));
  }
  return unknown(why);
}

class ArrowStream final : public AnswerWriter {
 public:
  ArrowStream(QueryResult& result, std::uint64_t memory_bytes)
      : options_(duckdb_result_get_arrow_options(result.get())), memory_bytes_(memory_bytes) {}

  Result<void> describe(QueryResult& result, const std::vector<RenderedColumn>& columns) {
    std::vector<LogicalType> types;
    std::vector<duckdb_logical_type> type_handles;
    std::vector<const char*> name_texts;
    for (idx_t index = 0; index < columns.size(); ++index) {
      types.emplace_back(duckdb_column_logical_type(result.get(), index));
      type_handles.push_back(types.back().get());
      name_texts.push_back(columns[index].name.c_str());
    }
    OwnedArrow<ArrowSchema> schema;
    STRATA_RETURN_IF_ERROR(
        checked(ErrorData(duckdb_to_arrow_schema(options_.get(), type_handles.data(),
                                                 name_texts.data(), columns.size(), schema.get())),
                memory_bytes_));
    STRATA_ASSIGN_OR_RETURN(fields_, read_children(*schema));
    return {};
  }

  Result<void> append_start(std::string& out) override {
    Builder builder;
    const auto fields = write_fields(builder, fields_);
    const auto start = builder.StartTable();
    builder.AddOffset(slot(1), fields);
    const Reference schema(builder.EndTable(start));
    append_message(out, builder, Header::kSchema, schema, {});
    return {};
  }

  /// Whole chunks only, or their beginning: DuckDB exports no others.
  Result<void> append_rows(duckdb_data_chunk chunk, std::uint64_t begin, std::uint64_t end,
                           std::string& out) override {
    if (begin != 0) return unknown("a part of a chunk");
    if (end == 0) return {};
    duckdb_data_chunk_set_size(chunk, end);
    OwnedArrow<ArrowArray> array;
    STRATA_RETURN_IF_ERROR(checked(
        ErrorData(duckdb_data_chunk_to_arrow(options_.get(), chunk, array.get())), memory_bytes_));
    Body body;
    STRATA_RETURN_IF_ERROR(body.add_children(fields_, *array));
    body.append_to(out, (*array).length);
    return {};
  }

  Result<void> append_end(std::string& out) override {
    append_int32(out, kContinuation);
    append_int32(out, 0);
    return {};
  }

 private:
  const ArrowOptions options_;
  const std::uint64_t memory_bytes_;
  std::vector<Field> fields_;
};

}  // namespace

Result<std::unique_ptr<AnswerWriter>> make_arrow_stream(QueryResult& result,
                                                        const std::vector<RenderedColumn>& columns,
                                                        std::uint64_t memory_bytes) {
  auto stream = std::make_unique<ArrowStream>(result, memory_bytes);
  STRATA_RETURN_IF_ERROR(stream->describe(result, columns));
  return std::unique_ptr<AnswerWriter>(std::move(stream));
}

}  // namespace strata::duck
