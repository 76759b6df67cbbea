#include "stream/rejects.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "base/ids.h"
#include "base/limits.h"
#include "io/numbered.h"

namespace strata::stream {
namespace {

constexpr std::string_view kBodySuffix = ".ndjson";
constexpr std::string_view kReasonSuffix = ".err";

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

Rejects::Rejects(io::FileSystem& fs, io::Publisher& publisher,
                 std::unique_ptr<io::Directory> folder)
    : fs_(fs), publisher_(publisher), folder_(std::move(folder)) {}

Result<std::unique_ptr<Rejects>> Rejects::open(io::FileSystem& fs, io::Publisher& publisher) {
  STRATA_ASSIGN_OR_RETURN(auto folder, io::ensure_directory(fs, {publisher.stream(), "failed"}));
  return std::make_unique<Rejects>(fs, publisher, std::move(folder));
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
  STRATA_RETURN_IF_ERROR(put(reject.name + std::string(kBodySuffix), reject.body));
  STRATA_RETURN_IF_ERROR(put(reject.name + std::string(kReasonSuffix), reject.reason_json));
  STRATA_RETURN_IF_ERROR(refresh());
  while (!files_.empty() &&
         (files_.size() > limits::kFailedCountMax || bytes_ > limits::kFailedBytesMax)) {
    drop_oldest();
  }
  return {};
}

Result<void> Rejects::refresh() {
  STRATA_ASSIGN_OR_RETURN(const io::FileStat stat, fs_.stat_handle(*folder_));
  if (stat.modified_ns == folder_modified_ns_) return {};
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs_.list(*folder_));
  std::deque<File> files;
  std::uint64_t bytes = 0;
  for (const io::DirEntry& entry : entries) {
    if (!entry.name.ends_with(kBodySuffix)) continue;
    const auto file = fs_.stat({*folder_, entry.name});
    if (!file) continue;  // dropped by another process between the two calls
    files.push_back({entry.name.substr(0, entry.name.size() - kBodySuffix.size()), file->size_bytes,
                     file->modified_ns});
    bytes += file->size_bytes;
  }
  std::ranges::sort(files, {}, [](const File& file) {
    return std::pair<std::int64_t, const std::string&>(file.modified_ns, file.name);
  });
  files_ = std::move(files);
  bytes_ = bytes;
  folder_modified_ns_ = stat.modified_ns;
  return {};
}

void Rejects::drop_oldest() {
  const File oldest = files_.front();
  files_.pop_front();
  bytes_ -= oldest.bytes;
  ++dropped_;
  ignore(fs_.unlink({*folder_, oldest.name + std::string(kBodySuffix)}), "best effort by promise");
  ignore(fs_.unlink({*folder_, oldest.name + std::string(kReasonSuffix)}),
         "best effort by promise");
}

Rejects::Kept Rejects::kept() {
  const std::lock_guard lock(mutex_);
  ignore(refresh(), "the numbers shown are then those of the last look");
  return {files_.size(), bytes_, dropped_};
}

}  // namespace strata::stream
