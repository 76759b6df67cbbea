#include "parquet/footer.h"

#include "base/check.h"
#include "base/sha256.h"

namespace strata::parquet {

std::optional<std::string_view> Footer::value(std::string_view key) const {
  for (const auto& [name, text] : key_values) {
    if (name == key) return text;
  }
  return std::nullopt;
}

std::string file_sha256_placeholder() { return std::string(2 * sizeof(Digest), '0'); }

std::string self_digest(std::string_view file, std::uint64_t file_sha256_offset) {
  const std::string zeros = file_sha256_placeholder();
  STRATA_CHECK(file_sha256_offset <= file.size() &&
               file.size() - file_sha256_offset >= zeros.size());
  Sha256 sha256;
  sha256.update(file.substr(0, file_sha256_offset));
  sha256.update(zeros);
  sha256.update(file.substr(file_sha256_offset + zeros.size()));
  return to_hex(sha256.finish());
}

}  // namespace strata::parquet
