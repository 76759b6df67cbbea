#include "io/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/sha256.h"
#include "base/whole_number.h"
#include "io/numbered.h"

namespace strata::io {
namespace {

constexpr std::string_view kSuffix = ".ids";
constexpr std::string_view kFirstLine = "strata-ledger 1\n";
constexpr std::string_view kLastLine = "sha256 ";
constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kLastLineBytes = kLastLine.size() + kDigestDigits + 1;
constexpr std::size_t kTexts = 10;  // in a line, between tabs
/// Lines go into further files beyond this, well below what a numbered file may hold.
constexpr std::size_t kLinesBytesMax = 8UL * 1024 * 1024;
static_assert(kLinesBytesMax <= kNumberedBytesMax / 2);
/// How often another process may take the number that was meant.
constexpr int kRaceTries = 1000;

Error damaged(std::uint64_t number, std::string_view what) {
  return make_error(Code::kIo,
                    fmt::format("the stream's ledger is damaged: {} {}; put the file back from a "
                                "backup, for without it batches could land a second time",
                                numbered_name(number, kSuffix), what));
}

std::uint64_t digest_of(std::string_view id) {
  Sha256 sha;
  sha.update(id);
  const Digest digest = sha.finish();
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < sizeof(first); ++i) first = (first << 8U) | digest[i];
  return first;
}

/// The texts of a line in their order, for ever.
std::string line_of(const BatchFacts& facts) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", facts.batch_id, facts.attempt,
                     facts.partition, facts.arrived_at, facts.rows, facts.columns,
                     facts.body_sha256, facts.content_sha256, facts.file_sha256, facts.file_bytes);
}

/// `line` without its end; nothing if it is none that line_of() makes.
std::optional<BatchFacts> parse_line(std::string_view line) {
  std::array<std::string_view, kTexts> texts;
  for (std::size_t i = 0; i < kTexts; ++i) {
    const auto tab = line.find('\t');
    if ((tab == std::string_view::npos) != (i + 1 == kTexts)) return std::nullopt;
    texts.at(i) = line.substr(0, tab);
    line.remove_prefix(tab == std::string_view::npos ? line.size() : tab + 1);
  }
  const auto rows = parse_whole_number(texts[4]);
  const auto columns = parse_whole_number(texts[5]);
  const auto file_bytes = parse_whole_number(texts[9]);
  if (!rows || !columns || !file_bytes) return std::nullopt;
  BatchFacts facts{.batch_id = std::string(texts[0]),
                   .attempt = std::string(texts[1]),
                   .partition = std::string(texts[2]),
                   .arrived_at = std::string(texts[3]),
                   .rows = *rows,
                   .columns = *columns,
                   .body_sha256 = std::string(texts[6]),
                   .content_sha256 = std::string(texts[7]),
                   .file_sha256 = std::string(texts[8]),
                   .file_bytes = *file_bytes};
  if (!BatchId::parse(facts.batch_id)) return std::nullopt;
  return facts;
}

/// Facts come out of files; a text that would break a line is none of ours.
bool fits_a_line(const BatchFacts& facts) {
  const auto whole = [](std::string_view text) {
    return text.find_first_of(std::string_view("\t\n\0", 3)) == std::string_view::npos;
  };
  return BatchId::parse(facts.batch_id).has_value() && whole(facts.attempt) &&
         whole(facts.partition) && whole(facts.arrived_at) && whole(facts.body_sha256) &&
         whole(facts.content_sha256) && whole(facts.file_sha256);
}

}  // namespace

Result<std::string> ledger_file(std::vector<BatchFacts> batches) {
  STRATA_CHECK(!batches.empty());
  std::ranges::sort(batches, {}, &BatchFacts::batch_id);
  std::string bytes(kFirstLine);
  for (const BatchFacts& facts : batches) {
    if (!fits_a_line(facts)) {
      return make_error(Code::kBadBatch, "the batch's metadata is damaged", facts.batch_id);
    }
    bytes += line_of(facts);
  }
  const std::string digest = sha256_hex(bytes);
  return bytes.append(kLastLine).append(digest).append("\n");
}

FileLedger::FileLedger(OnlyOpen, FileSystem& fs, std::unique_ptr<Directory> folder)
    : fs_(fs), folder_(std::move(folder)) {}

Result<std::unique_ptr<FileLedger>> FileLedger::open(FileSystem& fs,
                                                     std::unique_ptr<Directory> folder) {
  auto ledger = std::make_unique<FileLedger>(OnlyOpen{}, fs, std::move(folder));
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs.list(*ledger->folder_));
  std::uint64_t highest = 0;
  for (const DirEntry& entry : entries) {
    highest = std::max(highest, parse_numbered(entry.name, kSuffix).value_or(0));
  }
  STRATA_RETURN_IF_ERROR(ledger->refresh());
  if (ledger->next_ <= highest) return damaged(ledger->next_, "is missing");
  return ledger;
}

Result<void> FileLedger::refresh() {
  const auto there = [this] { return fs_.stat({*folder_, numbered_name(next_, kSuffix)}); };
  auto next = there();
  if (!next && next.error().code == Code::kNotFound) return {};
  const std::lock_guard lock(load_mutex_);
  while (true) {
    next = there();
    if (!next && next.error().code == Code::kNotFound) return {};
    if (!next) return next.error();
    STRATA_RETURN_IF_ERROR(load(next_));
    ++next_;
  }
}

Result<void> FileLedger::load(std::uint64_t number) {
  STRATA_ASSIGN_OR_RETURN(const std::string bytes,
                          fs_.read({*folder_, numbered_name(number, kSuffix)}, kNumberedBytesMax));
  if (!bytes.starts_with(kFirstLine)) return damaged(number, "begins with no line we know");
  if (bytes.size() < kFirstLine.size() + kLastLineBytes) return damaged(number, "is cut off");
  const std::size_t lines_end = bytes.size() - kLastLineBytes;
  const std::string_view lines = std::string_view(bytes).substr(0, lines_end);
  const std::string last = std::string(kLastLine) + sha256_hex(lines) + "\n";
  if (std::string_view(bytes).substr(lines_end) != last) {
    return damaged(number, "differs from its digest");
  }
  std::vector<Place> added;
  std::string before;
  for (std::size_t at = kFirstLine.size(); at < lines_end;) {
    const std::size_t end = lines.find('\n', at);
    const auto facts =
        end == std::string_view::npos ? std::nullopt : parse_line(lines.substr(at, end - at));
    if (!facts || facts->batch_id <= before) return damaged(number, "has a line out of place");
    before = facts->batch_id;
    added.push_back({.digest = digest_of(facts->batch_id),
                     .file = static_cast<std::uint32_t>(number),
                     .offset = static_cast<std::uint32_t>(at),
                     .length = static_cast<std::uint32_t>(end - at)});
    at = end + 1;
  }
  std::ranges::sort(added, {}, &Place::digest);
  const std::unique_lock lock(mutex_);
  const auto middle = static_cast<std::ptrdiff_t>(places_.size());
  places_.insert(places_.end(), added.begin(), added.end());
  std::ranges::inplace_merge(places_, places_.begin() + middle, {}, &Place::digest);
  return {};
}

std::vector<FileLedger::Place> FileLedger::places_of(std::uint64_t digest) const {
  const std::shared_lock lock(mutex_);
  const auto found = std::ranges::equal_range(places_, digest, {}, &Place::digest);
  return {found.begin(), found.end()};
}

Result<std::optional<BatchFacts>> FileLedger::find(const BatchId& id) {
  // A fold's entry is durable before its claim goes, so one look here, after the claim was seen
  // free or made, knows of every fold that may have freed it.
  STRATA_RETURN_IF_ERROR(refresh());
  if (next_ == 1) return std::nullopt;
  for (const Place& place : places_of(digest_of(id.str()))) {
    STRATA_ASSIGN_OR_RETURN(
        const std::string line,
        fs_.read_range({*folder_, numbered_name(place.file, kSuffix)}, place.offset, place.length));
    auto facts = parse_line(line);
    if (!facts) return damaged(place.file, "was changed since it was read");
    if (facts->batch_id == id.str()) return facts;
  }
  return std::nullopt;
}

std::uint64_t FileLedger::size() const {
  const std::shared_lock lock(mutex_);
  return places_.size();
}

Result<void> FileLedger::add(std::vector<BatchFacts> batches, const Directory& staging) {
  std::ranges::sort(batches, {}, &BatchFacts::batch_id);
  const auto twice = std::ranges::unique(batches);
  batches.erase(twice.begin(), twice.end());
  const auto same_id = std::ranges::adjacent_find(batches, {}, &BatchFacts::batch_id);
  if (same_id != batches.end()) {
    return make_error(Code::kConflict, "two batches of one id cannot be folded", same_id->batch_id);
  }
  std::vector<BatchFacts> part;
  std::size_t bytes = 0;
  const auto publish_part = [&]() -> Result<void> {
    if (part.empty()) return {};
    STRATA_ASSIGN_OR_RETURN(const std::string file, ledger_file(std::exchange(part, {})));
    bytes = 0;
    return publish(file, staging);
  };
  for (BatchFacts& facts : batches) {
    bytes += line_of(facts).size();
    part.push_back(std::move(facts));
    if (bytes >= kLinesBytesMax) STRATA_RETURN_IF_ERROR(publish_part());
  }
  return publish_part();
}

Result<void> FileLedger::publish(const std::string& bytes, const Directory& staging) {
  for (int i = 0; i < kRaceTries; ++i) {
    STRATA_RETURN_IF_ERROR(refresh());
    const auto published = publish_numbered(fs_, {.folder = *folder_,
                                                  .staging = staging,
                                                  .number = next_,
                                                  .suffix = kSuffix,
                                                  .bytes = bytes});
    if (published) return refresh();
    if (published.error().code != Code::kExists) return published;
  }
  return make_error(Code::kBusy, "the ledger is being written by others; try again in a moment");
}

}  // namespace strata::io
