#include "parquet/compact_reader.h"

namespace strata::parquet {
namespace {

/// Parquet's own metadata nests less than ten levels.
constexpr int kDepthMax = 32;
constexpr int kVarintBytesMax = 10;

CompactType type_of(std::uint8_t bits) { return static_cast<CompactType>(bits & 0x0f); }

}  // namespace

void CompactReader::fail() {
  failed_ = true;
  rest_ = {};
}

std::uint8_t CompactReader::byte() {
  if (rest_.empty()) {
    fail();
    return 0;
  }
  const auto value = static_cast<std::uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return value;
}

std::uint64_t CompactReader::varint() {
  std::uint64_t value = 0;
  for (int index = 0; index < kVarintBytesMax; ++index) {
    const std::uint8_t next = byte();
    value |= static_cast<std::uint64_t>(next & 0x7f) << (7 * index);
    if ((next & 0x80) == 0) return value;
  }
  fail();
  return 0;
}

std::int64_t CompactReader::integer() {
  const std::uint64_t zigzag = varint();
  return static_cast<std::int64_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1));
}

void CompactReader::drop(std::uint64_t count) {
  if (count > rest_.size()) return fail();
  rest_.remove_prefix(count);
}

std::string_view CompactReader::binary() {
  const std::uint64_t size = varint();
  if (size > rest_.size()) {
    fail();
    return {};
  }
  const std::string_view text = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return text;
}

CompactReader::Field CompactReader::field(std::int64_t previous_id) {
  const std::uint8_t header = byte();
  const CompactType type = type_of(header);
  if (failed_ || type == CompactType::kStop) return {};
  const std::uint8_t step = header >> 4;
  // Ids are 16-bit numbers: a wider one is damage, and adding to it may not overflow.
  const std::int64_t id = step == 0 ? integer() : previous_id + step;
  if (id < INT16_MIN || id > INT16_MAX) {
    fail();
    return {};
  }
  return {.type = type, .id = id};
}

void CompactReader::expect(CompactType actual, CompactType wanted) {
  if (actual != wanted) fail();
}

/// No element is smaller than a byte, so a count beyond the bytes left is damage; checked here,
/// once, it bounds every loop by the size of the input.
std::uint64_t CompactReader::elements(std::uint64_t count) {
  if (count <= rest_.size()) return count;
  fail();
  return 0;
}

std::uint64_t CompactReader::list_size(CompactType wanted) {
  const std::uint8_t header = byte();
  const std::uint8_t short_size = header >> 4;
  const std::uint64_t size = elements(short_size == 15 ? varint() : short_size);
  if (size > 0) expect(type_of(header), wanted);
  return failed_ ? 0 : size;
}

void CompactReader::skip(CompactType type, int depth) {
  if (depth > kDepthMax) return fail();
  switch (type) {
    case CompactType::kTrue:
    case CompactType::kFalse:
      return;  // a field's boolean is its type
    case CompactType::kByte:
      return drop(1);
    case CompactType::kI16:
    case CompactType::kI32:
    case CompactType::kI64:
      static_cast<void>(varint());
      return;
    case CompactType::kDouble:
      return drop(8);
    case CompactType::kBinary:
      static_cast<void>(binary());
      return;
    case CompactType::kList:
    case CompactType::kSet:
      return skip_list(depth);
    case CompactType::kMap:
      return skip_map(depth);
    case CompactType::kStruct:
      return skip_struct(depth);
    case CompactType::kStop:
      break;
  }
  fail();  // kStop, and the numbers that name no type
}

void CompactReader::skip_element(CompactType type, int depth) {
  const bool boolean = type == CompactType::kTrue || type == CompactType::kFalse;
  if (boolean) return drop(1);
  skip(type, depth);
}

void CompactReader::skip_struct(int depth) {
  std::int64_t id = 0;
  while (true) {
    const Field next = field(id);
    if (failed_ || next.type == CompactType::kStop) return;
    id = next.id;
    skip(next.type, depth + 1);
  }
}

void CompactReader::skip_list(int depth) {
  const std::uint8_t header = byte();
  const std::uint8_t short_size = header >> 4;
  const std::uint64_t size = elements(short_size == 15 ? varint() : short_size);
  for (std::uint64_t index = 0; index < size && !failed_; ++index) {
    skip_element(type_of(header), depth + 1);
  }
}

void CompactReader::skip_map(int depth) {
  const std::uint64_t size = elements(varint());
  if (size == 0) return;
  const std::uint8_t types = byte();
  for (std::uint64_t index = 0; index < size && !failed_; ++index) {
    skip_element(type_of(types >> 4), depth + 1);
    skip_element(type_of(types), depth + 1);
  }
}

}  // namespace strata::parquet
