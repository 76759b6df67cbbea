#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/sha256.h"

namespace strata::cli {

/// What makes two runs of `strata send` the same: the file's bytes, and what was asked to tell
/// them apart. The chunks of another --batch-rows hold other rows, so it is part of the identity.
struct SendIdentity {
  Digest file_digest{};
  std::string run;  // --run; empty: none
  std::optional<std::uint64_t> batch_rows;
};

/// kBadRequest: not a name for --run (control characters, over 255 bytes).
Result<void> check_run_name(const std::string& run);

/// The first 16 hex digits of the file's SHA-256; with --run or --batch-rows, of the SHA-256 of
/// `<run>\n`, then `batch-rows <N>\n` if given, then the file's 64 hex digits. Fixed for ever.
std::string batch_id_prefix(const SendIdentity& identity);

/// `<prefix>-<chunk number, six digits or more>`.
std::string batch_id(const std::string& prefix, std::uint64_t chunk_number);

}  // namespace strata::cli
