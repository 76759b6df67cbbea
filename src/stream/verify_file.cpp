#include "stream/verify_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "parquet/footer.h"
#include "stream/batch_file.h"

namespace strata::stream {
namespace {

constexpr std::uint64_t kPieceBytes = 1024 * 1024;
constexpr std::uint64_t kDigestDigits = 64;

using State = FileVerdict::State;

FileVerdict judged(FileVerdict verdict, State state, std::string reason) {
  verdict.state = state;
  verdict.reason = std::move(reason);
  return verdict;
}

/// What a failed read says about the file; an error where it says nothing.
Result<FileVerdict> unread(FileVerdict verdict, const Error& error) {
  switch (error.code) {
    case Code::kNotFound:
      return judged(std::move(verdict), State::kGone, "");
    case Code::kBadBatch:
      return judged(std::move(verdict), State::kDamaged,
                    verdict.bytes == 0 ? "it is empty"
                                       : "it is no whole Parquet file: cut short, or its footer is "
                                         "damaged");
    case Code::kIo:
      return judged(std::move(verdict), State::kUnreadable,
                    "the disk does not give it whole; look at the disk");
    default:
      return error;
  }
}

/// parquet::self_digest of a file that is not in memory.
Result<std::string> digest_of(io::FileSystem& fs, io::Entry file, std::uint64_t bytes,
                              std::uint64_t digits_at) {
  Sha256 sha;
  for (std::uint64_t at = 0; at < bytes; at += kPieceBytes) {
    STRATA_ASSIGN_OR_RETURN(std::string piece,
                            fs.read_range(file, at, std::min(kPieceBytes, bytes - at)));
    const std::uint64_t first = std::max(at, digits_at);
    const std::uint64_t last = std::min(at + piece.size(), digits_at + kDigestDigits);
    for (std::uint64_t digit = first; digit < last; ++digit) piece[digit - at] = '0';
    sha.update(piece);
  }
  return to_hex(sha.finish());
}

}  // namespace

Result<FileVerdict> judge_file(io::FileSystem& fs, io::Entry file, const std::string& batch_id) {
  FileVerdict verdict;
  const auto stat = fs.stat(file);
  if (!stat) return unread(std::move(verdict), stat.error());
  verdict.id = stat->id;
  verdict.bytes = stat->size_bytes;
  const auto footer = read_footer(fs, file);
  if (!footer) return unread(std::move(verdict), footer.error());
  verdict.columns = footer->columns;
  verdict.stream = footer->value("stream").value_or("");
  FooterFactsReader reader(fs);
  const auto facts = reader.read(file);
  if (facts) verdict.facts = *facts;

  if (!footer->file_sha256_offset) {
    return judged(std::move(verdict), State::kForeign,
                  "it carries no digest of itself: Strata did not write it, or its footer is "
                  "damaged");
  }
  const auto digest = digest_of(fs, file, verdict.bytes, *footer->file_sha256_offset);
  if (!digest) return unread(std::move(verdict), digest.error());
  if (*digest != footer->value("file_sha256")) {
    return judged(std::move(verdict), State::kDamaged,
                  fmt::format("its bytes are not those that were written: file_sha256 says {}, it "
                              "is {}",
                              footer->value("file_sha256")->substr(0, 12), digest->substr(0, 12)));
  }
  if (!facts) return unread(std::move(verdict), facts.error());
  if (facts->batch_id != batch_id) {
    return judged(std::move(verdict), State::kForeign,
                  "it is another batch's file under this name");
  }
  return verdict;
}

}  // namespace strata::stream
