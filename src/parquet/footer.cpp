#include "parquet/footer.h"

#include <bitset>
#include <utility>

#include "base/check.h"
#include "base/sha256.h"
#include "parquet/compact_reader.h"
#include "parquet/format.h"

namespace strata::parquet {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kEndBytes = kLengthBytes + kMagic.size();
constexpr std::string_view kDigestKey = "file_sha256";
constexpr std::size_t kDigestDigits = 2 * sizeof(Digest);

/// An entry costs a few bytes in the file and dozens in memory; these caps keep a lying footer's
/// cost small. A stream's files stay far below.
constexpr std::size_t kSchemaElementsMax = 65'536;
constexpr std::size_t kKeyValuesMax = 65'536;

Error no_parquet(std::string detail) {
  return make_error(Code::kIo,
                    "The file does not end as a Parquet file does: it is damaged or cut short; put "
                    "a good copy of it back.",
                    std::move(detail));
}

Error damaged(std::string detail) {
  return make_error(Code::kIo,
                    "The Parquet file's footer is damaged; put a good copy of the file back.",
                    std::move(detail));
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    value |= std::uint64_t{static_cast<std::uint8_t>(bytes[index])} << (8 * index);
  }
  return value;
}

/// The parts of parquet.thrift's FileMetaData that Footer is made of; views point into the tail.
struct FileMetaData {
  std::int64_t rows = -1;
  std::vector<std::string_view> columns;
  std::vector<std::pair<std::string_view, std::string_view>> key_values;
};

/// SchemaElement: 4 name, 5 num_children. Adds a leaf's name to `columns`; answers num_children.
std::int64_t read_schema_element(CompactReader& reader, bool root,
                                 std::vector<std::string_view>& columns) {
  std::string_view name;
  std::int64_t children = 0;
  for (auto field = reader.field(0); field.type != CompactType::kStop;
       field = reader.field(field.id)) {
    if (field.id == 4) {
      reader.expect(field.type, CompactType::kBinary);
      name = reader.binary();
    } else if (field.id == 5) {
      reader.expect(field.type, CompactType::kI32);
      children = reader.integer();
    } else {
      reader.skip(field.type);
    }
  }
  if (children < 0 || children > static_cast<std::int64_t>(kSchemaElementsMax)) reader.fail();
  if (!root && children == 0) columns.push_back(name);
  return children;
}

/// The schema tree, flattened depth first: the root, then everything below it.
void read_schema(CompactReader& reader, std::vector<std::string_view>& columns) {
  const std::uint64_t size = reader.list_size(CompactType::kStruct);
  if (size == 0 || size > kSchemaElementsMax) return reader.fail();
  std::uint64_t children = 0;
  for (std::uint64_t index = 0; index < size && !reader.failed(); ++index) {
    children += static_cast<std::uint64_t>(read_schema_element(reader, index == 0, columns));
  }
  if (children != size - 1) reader.fail();
}

/// KeyValue: 1 key, 2 value (may be missing, which reads as empty).
void read_key_values(CompactReader& reader, FileMetaData& file) {
  const std::uint64_t size = reader.list_size(CompactType::kStruct);
  if (size > kKeyValuesMax) return reader.fail();
  for (std::uint64_t index = 0; index < size && !reader.failed(); ++index) {
    auto& [key, value] = file.key_values.emplace_back();
    for (auto field = reader.field(0); field.type != CompactType::kStop;
         field = reader.field(field.id)) {
      if (field.id != 1 && field.id != 2) {
        reader.skip(field.type);
        continue;
      }
      reader.expect(field.type, CompactType::kBinary);
      (field.id == 1 ? key : value) = reader.binary();
    }
  }
}

/// FileMetaData: 2 schema, 3 num_rows, 5 key_value_metadata. A field that is there twice is damage:
/// other readers would not agree on which one holds.
void read_file_meta_data(CompactReader& reader, FileMetaData& file) {
  std::bitset<8> seen;
  for (auto field = reader.field(0); field.type != CompactType::kStop;
       field = reader.field(field.id)) {
    const bool known = field.id == 2 || field.id == 3 || field.id == 5;
    if (!known) {
      reader.skip(field.type);
      continue;
    }
    const auto bit = static_cast<std::size_t>(field.id);
    if (seen[bit]) return reader.fail();
    seen.set(bit);
    reader.expect(field.type, field.id == 3 ? CompactType::kI64 : CompactType::kList);
    if (field.id == 2) read_schema(reader, file.columns);
    if (field.id == 3) file.rows = reader.integer();
    if (field.id == 5) read_key_values(reader, file);
  }
  if (!seen[2] || file.rows < 0) reader.fail();
}

}  // namespace

std::optional<std::string_view> Footer::value(std::string_view key) const {
  for (const auto& [name, text] : key_values) {
    if (name == key) return text;
  }
  return std::nullopt;
}

Result<std::uint64_t> footer_tail_size(std::string_view last_eight_bytes) {
  if (last_eight_bytes.size() != kEndBytes || !last_eight_bytes.ends_with(kMagic)) {
    return no_parquet("no magic at the end");
  }
  const std::uint64_t footer_bytes = little_endian(last_eight_bytes.substr(0, kLengthBytes));
  if (footer_bytes == 0 || footer_bytes > kFooterBytesMax) {
    return no_parquet("a footer of " + std::to_string(footer_bytes) + " bytes");
  }
  return footer_bytes + kEndBytes;
}

Result<Footer> parse_footer(std::string_view tail, std::uint64_t file_size) {
  if (tail.size() < kEndBytes || tail.size() > file_size) return no_parquet("too short");
  STRATA_ASSIGN_OR_RETURN(const std::uint64_t tail_size,
                          footer_tail_size(tail.substr(tail.size() - kEndBytes)));
  if (tail_size > tail.size() || tail_size + kMagic.size() > file_size) {
    return no_parquet("the footer begins before the bytes at hand");
  }
  FileMetaData file;
  CompactReader reader(tail.substr(tail.size() - tail_size, tail_size - kEndBytes));
  read_file_meta_data(reader, file);
  if (reader.failed() || !reader.at_end()) return damaged("no FileMetaData");

  Footer footer;
  footer.rows = static_cast<std::uint64_t>(file.rows);
  footer.columns.assign(file.columns.begin(), file.columns.end());
  bool digest_seen = false;
  for (const auto& [key, value] : file.key_values) {
    footer.key_values.emplace_back(key, value);
    if (key != kDigestKey || std::exchange(digest_seen, true)) continue;
    if (value.size() == kDigestDigits) {
      footer.file_sha256_offset =
          file_size - tail.size() + static_cast<std::uint64_t>(value.data() - tail.data());
    }
  }
  return footer;
}

std::string file_sha256_placeholder() { return std::string(kDigestDigits, '0'); }

std::string self_digest(std::string_view file, std::uint64_t file_sha256_offset) {
  STRATA_CHECK(file_sha256_offset <= file.size() &&
               file.size() - file_sha256_offset >= kDigestDigits);
  Sha256 sha256;
  sha256.update(file.substr(0, file_sha256_offset));
  sha256.update(file_sha256_placeholder());
  sha256.update(file.substr(file_sha256_offset + kDigestDigits));
  return to_hex(sha256.finish());
}

}  // namespace strata::parquet
