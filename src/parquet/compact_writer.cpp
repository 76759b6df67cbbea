#include "parquet/compact_writer.h"

#include "base/check.h"
#include "parquet/varint.h"

namespace strata::parquet {

void CompactWriter::begin_struct() {
  STRATA_CHECK(depth_ + 1 < kDepthMax);
  previous_[++depth_] = 0;
}

void CompactWriter::end_struct() {
  out_.push_back(static_cast<char>(CompactType::kStop));
  --depth_;
}

void CompactWriter::boolean(std::int16_t id, bool value) {
  field(id, value ? CompactType::kTrue : CompactType::kFalse);
}

void CompactWriter::binary(std::int16_t id, std::string_view bytes) {
  field(id, CompactType::kBinary);
  element_binary(bytes);
}

void CompactWriter::structure(std::int16_t id) {
  field(id, CompactType::kStruct);
  begin_struct();
}

void CompactWriter::list(std::int16_t id, CompactType type, std::uint64_t size) {
  constexpr std::uint64_t kShortSizeMax = 14;
  field(id, CompactType::kList);
  const std::uint64_t head = size <= kShortSizeMax ? size : 15;
  out_.push_back(static_cast<char>((head << 4U) | static_cast<std::uint8_t>(type)));
  if (size > kShortSizeMax) append_varint(out_, size);
}

void CompactWriter::element_binary(std::string_view bytes) {
  append_varint(out_, bytes.size());
  out_.append(bytes);
}

void CompactWriter::field(std::int16_t id, CompactType type) {
  const int step = id - previous_[depth_];
  STRATA_CHECK(step > 0 && step < 16);
  previous_[depth_] = id;
  out_.push_back(static_cast<char>((step << 4) | static_cast<std::uint8_t>(type)));
}

void CompactWriter::number(std::int16_t id, CompactType type, std::int64_t value) {
  field(id, type);
  zigzag(value);
}

void CompactWriter::zigzag(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  append_varint(out_, (bits << 1U) ^ (value < 0 ? ~std::uint64_t{0} : 0));
}

}  // namespace strata::parquet
