#pragma once

#include <cstdint>
#include <string_view>

namespace strata::parquet {

/// Types of Thrift's compact protocol, by their number on the wire.
enum class CompactType : std::uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
};

/// Reads Thrift's compact protocol from any bytes whatsoever: never past their end, never deeper
/// than a fixed cap, in time linear in their number, and without allocating. The first failure
/// sticks: after it every call answers nothing, so a caller asks `failed()` once, at the end (and
/// in loops over `list_size`).
class CompactReader {
 public:
  struct Field {
    CompactType type = CompactType::kStop;
    std::int64_t id = 0;
  };

  explicit CompactReader(std::string_view bytes) : rest_(bytes) {}

  bool failed() const { return failed_; }
  bool at_end() const { return rest_.empty(); }
  /// For what the protocol allows and the caller does not.
  void fail();

  /// The next field of a struct; kStop at its end. `previous_id`: of the field before, 0 at first.
  Field field(std::int64_t previous_id);
  /// Fails unless `actual` is `wanted`: called before reading a field whose type is known.
  void expect(CompactType actual, CompactType wanted);
  std::int64_t integer();
  /// Points into the bytes given to the constructor.
  std::string_view binary();
  /// How many elements of type `wanted` follow; never more than there are bytes left.
  std::uint64_t list_size(CompactType wanted);
  /// Past a field's value.
  void skip(CompactType type) { skip(type, 0); }

 private:
  std::uint8_t byte();
  std::uint64_t varint();
  void drop(std::uint64_t count);
  std::uint64_t elements(std::uint64_t count);
  void skip(CompactType type, int depth);
  void skip_struct(int depth);
  void skip_list(int depth);
  void skip_map(int depth);
  void skip_element(CompactType type, int depth);

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace strata::parquet
