#include "cli/batch_ids.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::cli {
namespace {

constexpr std::size_t kPrefixDigits = 16;
constexpr std::size_t kRunNameBytesMax = 255;

}  // namespace

Result<void> check_run_name(const std::string& run) {
  // A newline would let two identities spell the same hashed text.
  const bool legal = std::all_of(run.begin(), run.end(), [](char character) {
    const auto byte = static_cast<unsigned char>(character);
    return byte >= 0x20 && byte != 0x7f;
  });
  if (legal && run.size() <= kRunNameBytesMax) return {};
  return make_error(Code::kBadRequest,
                    fmt::format("--run takes a name of at most {} bytes without control characters",
                                kRunNameBytesMax));
}

std::string batch_id_prefix(const SendIdentity& identity) {
  std::string named = to_hex(identity.file_digest);
  if (!identity.run.empty() || identity.batch_rows) {
    std::string text = identity.run + "\n";
    if (identity.batch_rows) text += fmt::format("batch-rows {}\n", *identity.batch_rows);
    named = sha256_hex(text + named);
  }
  return named.substr(0, kPrefixDigits);
}

std::string batch_id(const std::string& prefix, std::uint64_t chunk_number) {
  return fmt::format("{}-{:06}", prefix, chunk_number);
}

}  // namespace strata::cli
