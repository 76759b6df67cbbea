#include "stream/rejects.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <map>
#include <utility>

#include "base/limits.h"
#include "io/numbered.h"

namespace strata::stream {
namespace {

constexpr std::string_view kBodySuffix = ".ndjson";
constexpr std::string_view kReasonSuffix = ".err";
/// How many the cap dropped, as decimal digits.
constexpr std::string_view kDroppedName = ".dropped";
constexpr std::uint64_t kDroppedBytesMax = 32;
/// A hundred reasons of names and values that a body may hold; a longer file is not ours.
constexpr std::uint64_t kReasonBytesMax = 16ULL * 1024 * 1024;
constexpr std::uint64_t kBodyPieceBytes = 256ULL * 1024;
/// How long keep() goes by what it knows before it looks for what other processes kept.
constexpr std::chrono::seconds kLookAge{1};
/// Two changes within one tick of a file system's clock give a folder one and the same time.
constexpr std::chrono::seconds kFolderTimeTick{2};

std::string body_name(const std::string& name) { return name + std::string(kBodySuffix); }
std::string reason_name(const std::string& name) { return name + std::string(kReasonSuffix); }

WallTime wall_of(std::int64_t nanoseconds) {
  return WallTime(std::chrono::nanoseconds(nanoseconds));
}

Error not_kept(const std::string& name) {
  return make_error(
      Code::kNotFound,
      fmt::format("no rejected batch '{}' is kept here: it was deleted, or dropped to "
                  "make room, or never refused.",
                  name));
}

}  // namespace

boost::json::array reasons_json(const ndjson::Rejection& rejection) {
  boost::json::array reasons;
  for (const ndjson::LineError& error : rejection.errors) {
    boost::json::object line{{"line", error.line}};
    if (!error.column.empty()) line["column"] = error.column;
    line["reason"] = error.reason;
    reasons.push_back(std::move(line));
  }
  return reasons;
}

Rejects::Rejects(io::FileSystem& fs, const Clock& clock, io::Publisher& publisher,
                 std::unique_ptr<io::Directory> folder)
    : fs_(fs), clock_(clock), publisher_(publisher), folder_(std::move(folder)) {}

Result<std::unique_ptr<Rejects>> Rejects::open(io::FileSystem& fs, const Clock& clock,
                                               io::Publisher& publisher) {
  STRATA_ASSIGN_OR_RETURN(auto folder, io::ensure_directory(fs, {publisher.stream(), "failed"}));
  return std::make_unique<Rejects>(fs, clock, publisher, std::move(folder));
}

Result<void> Rejects::put(const std::string& name, std::string_view bytes) {
  const std::string staged = "failed." + random_hex(8);
  STRATA_RETURN_IF_ERROR(fs_.write_new({publisher_.staging(), staged}, bytes));
  auto renamed = fs_.rename_replace({publisher_.staging(), staged}, {*folder_, name});
  if (!renamed) ignore(fs_.unlink({publisher_.staging(), staged}), "recovery removes it otherwise");
  return renamed;
}

Result<void> Rejects::keep(const Reject& reject) {
  const std::lock_guard lock(mutex_);
  if (!looked_at_ || clock_.steady() - *looked_at_ >= kLookAge) {
    STRATA_RETURN_IF_ERROR(refresh());
  }
  if (reject.body.size() + reject.reason_json.size() > limits::kFailedBytesMax) {
    count_dropped();
    const auto removed = remove_files(reject.name);  // it is no longer what was refused last
    return removed || removed.error().code == Code::kNotFound ? Result<void>() : removed;
  }
  STRATA_RETURN_IF_ERROR(put(body_name(reject.name), reject.body));
  STRATA_RETURN_IF_ERROR(put(reason_name(reject.name), reject.reason_json));
  STRATA_RETURN_IF_ERROR(note(reject.name));
  while (files_.size() > limits::kFailedCountMax || bytes_ > limits::kFailedBytesMax) {
    drop_oldest();
  }
  return {};
}

/// What was just kept, without a look at all the others.
Result<void> Rejects::note(const std::string& name) {
  STRATA_ASSIGN_OR_RETURN(Files files, files_of(name));
  const auto same = std::ranges::find(files_, name, &Files::name);
  if (same != files_.end()) {
    bytes_ -= same->bytes();
    files_.erase(same);
  }
  bytes_ += files.bytes();
  files_.push_back(std::move(files));
  return {};
}

Result<Rejects::Files> Rejects::files_of(const std::string& name) const {
  Files files{.name = name};
  const auto body = fs_.stat({*folder_, body_name(name)});
  if (!body && body.error().code != Code::kNotFound) return body.error();
  const auto reason = fs_.stat({*folder_, reason_name(name)});
  if (!reason && reason.error().code != Code::kNotFound) return reason.error();
  if (body) {
    files.body_bytes = body->size_bytes;
    files.modified_ns = body->modified_ns;
  }
  if (reason) {
    files.reason_bytes = reason->size_bytes;
    if (!body) files.modified_ns = reason->modified_ns;
  }
  return files;
}

Result<std::vector<Rejects::Files>> Rejects::look() const {
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs_.list(*folder_));
  std::map<std::string, Files> by_name;
  for (const io::DirEntry& entry : entries) {
    const std::string_view file = entry.name;
    const std::string_view suffix = file.ends_with(kBodySuffix) ? kBodySuffix : kReasonSuffix;
    if (!file.ends_with(suffix)) continue;
    const auto name = BatchId::parse(file.substr(0, file.size() - suffix.size()));
    if (!name || by_name.contains(name->str())) continue;  // a file of somebody else's
    STRATA_ASSIGN_OR_RETURN(by_name[name->str()], files_of(name->str()));
  }
  std::vector<Files> all;
  for (auto& [name, files] : by_name) {
    // Gone: dropped by another process between the two calls.
    if (files.body_bytes || files.reason_bytes > 0) all.push_back(std::move(files));
  }
  std::ranges::sort(all, {}, [](const Files& files) {
    return std::pair<std::int64_t, const std::string&>(files.modified_ns, files.name);
  });
  return all;
}

std::uint64_t Rejects::read_dropped() const {
  std::uint64_t number = 0;
  const auto text = fs_.read({*folder_, kDroppedName}, kDroppedBytesMax);
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

void Rejects::count_dropped() {
  dropped_ = std::max(dropped_, read_dropped()) + 1;
  ignore(put(std::string(kDroppedName), fmt::format("{}", dropped_)),
         "this process knows it still");
}

Result<void> Rejects::refresh() {
  STRATA_ASSIGN_OR_RETURN(const io::FileStat stat, fs_.stat_handle(*folder_));
  if (settled_ && stat.modified_ns == folder_modified_ns_) return {};
  const WallTime now = clock_.wall();
  STRATA_ASSIGN_OR_RETURN(files_, look());
  bytes_ = 0;
  for (const Files& files : files_) bytes_ += files.bytes();
  dropped_ = std::max(dropped_, read_dropped());
  folder_modified_ns_ = stat.modified_ns;
  settled_ = now - wall_of(stat.modified_ns) >= kFolderTimeTick;
  looked_at_ = clock_.steady();
  return {};
}

/// The body first: reasons without one are shown to nobody, and go in their turn.
Result<void> Rejects::remove_files(const std::string& name) {
  auto removed = fs_.unlink({*folder_, body_name(name)});
  ignore(fs_.unlink({*folder_, reason_name(name)}), "best effort by promise");
  const auto files = std::ranges::find(files_, name, &Files::name);
  if (files != files_.end()) {
    bytes_ -= files->bytes();
    files_.erase(files);
  }
  return removed;
}

void Rejects::drop_oldest() {
  const Files oldest = files_.front();
  ignore(remove_files(oldest.name), "best effort by promise");
  if (oldest.body_bytes) count_dropped();
}

Rejects::Kept Rejects::kept() {
  const std::lock_guard lock(mutex_);
  ignore(refresh(), "the numbers shown are then those of the last look");
  const auto count = std::ranges::count_if(
      files_, [](const Files& files) { return files.body_bytes.has_value(); });
  return {static_cast<std::uint64_t>(count), bytes_, dropped_};
}

Rejects::Entry Rejects::read_entry(const Files& files) const {
  Entry entry{.name = files.name,
              .body_bytes = files.body_bytes.value_or(0),
              .kept_at = wall_of(files.modified_ns),
              .reason_json = {}};
  if (auto reason = fs_.read({*folder_, reason_name(files.name)}, kReasonBytesMax)) {
    entry.reason_json = std::move(*reason);
  }
  return entry;
}

Result<Rejects::Page> Rejects::page(std::size_t limit, const std::optional<BatchId>& before) {
  const std::lock_guard lock(mutex_);
  STRATA_RETURN_IF_ERROR(refresh());
  auto end = files_.end();
  if (before) {
    end = std::ranges::find(files_, before->str(), &Files::name);
    if (end == files_.end()) return not_kept(before->str());
  }
  Page page;
  while (end != files_.begin()) {
    --end;
    if (!end->body_bytes) continue;
    if (page.entries.size() == limit) {
      page.next = page.entries.back().name;
      break;
    }
    page.entries.push_back(read_entry(*end));
  }
  return page;
}

Result<Rejects::Entry> Rejects::find(const BatchId& name) {
  const std::lock_guard lock(mutex_);
  STRATA_ASSIGN_OR_RETURN(const Files files, files_of(name.str()));
  if (!files.body_bytes) return not_kept(name.str());
  return read_entry(files);
}

Result<void> Rejects::remove(const BatchId& name) {
  const std::lock_guard lock(mutex_);
  auto removed = remove_files(name.str());
  if (!removed && removed.error().code == Code::kNotFound) return not_kept(name.str());
  return removed;
}

Result<Rejects::Body> Rejects::open_body(const BatchId& name) {
  const std::string file = body_name(name.str());
  const auto stat = fs_.stat({*folder_, file});
  if (!stat && stat.error().code == Code::kNotFound) return not_kept(name.str());
  if (!stat) return stat.error();
  return Body(*this, file, *stat);
}

Result<std::string> Rejects::Body::next() {
  const std::uint64_t size = std::min(kBodyPieceBytes, stat_.size_bytes - offset_);
  if (size == 0) return std::string();
  const io::Entry file{*rejects_.folder_, file_};
  auto piece = rejects_.fs_.read_range(file, offset_, size);
  // Looked at after the read: it was this file's piece, then, and not its replacement's.
  const auto now = rejects_.fs_.stat(file);
  const bool same = now && now->id == stat_.id && now->modified_ns == stat_.modified_ns;
  if (!same) {
    return make_error(Code::kConflict,
                      "the rejected batch was replaced or dropped while it was read; ask again.");
  }
  if (piece) offset_ += size;
  return piece;
}

}  // namespace strata::stream
