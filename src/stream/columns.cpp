#include "stream/columns.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <utility>

#include "base/cells.h"
#include "base/ids.h"
#include "base/limits.h"
#include "io/kill_point.h"
#include "io/numbered.h"
#include "stream/batch_file.h"

namespace strata::stream {
namespace {

namespace json = boost::json;

constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kAnchorName = ".schema.parquet";
constexpr std::uint64_t kAnchorBytesMax = 16ULL * 1024 * 1024;
/// Two processes that keep extending one registry each win within a few rounds.
constexpr int kRaceTries = 1000;

std::string to_json(const std::vector<std::string>& names) {
  return json::serialize(json::object{{"columns", json::value_from(names)}});
}

Error too_many(std::size_t count) {
  return make_error(
      Code::kBadBatch,
      fmt::format("the stream would have {} columns; at most {} are allowed. Send these "
                  "records to a receiver of their own.",
                  count, limits::kColumnsPerStreamMax));
}

}  // namespace

Result<std::vector<std::string>> columns_from_json(const std::string& text) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  const json::object* object = error ? nullptr : value.if_object();
  const json::value* columns = object == nullptr ? nullptr : object->if_contains("columns");
  if (columns == nullptr || !columns->is_array()) {
    return make_error(Code::kIo, "the stream's column registry cannot be read");
  }
  std::vector<std::string> names;
  for (const json::value& name : columns->as_array()) {
    if (!name.is_string()) {
      return make_error(Code::kIo, "the stream's column registry cannot be read");
    }
    names.emplace_back(name.as_string());
  }
  return names;
}

std::optional<std::vector<std::string>> Columns::List::stored(
    std::span<const std::string> wanted) const {
  std::vector<std::string> spelled;
  spelled.reserve(wanted.size());
  for (const std::string& name : wanted) {
    const auto found = by_folded.find(ascii_lower(name));
    if (found == by_folded.end()) return std::nullopt;
    spelled.push_back(names[found->second]);
  }
  return spelled;
}

void Columns::List::add(const std::string& name) {
  if (by_folded.emplace(ascii_lower(name), names.size()).second) names.push_back(name);
}

Result<void> Columns::List::extend(std::span<const std::string> wanted) {
  for (const std::string& name : wanted) add(name);
  if (names.size() > limits::kColumnsPerStreamMax) return too_many(names.size());
  return {};
}

Columns::Columns(io::FileSystem& fs, io::Publisher& publisher, parquet::BatchWriter& writer,
                 std::unique_ptr<io::Directory> folder)
    : fs_(fs), publisher_(publisher), writer_(writer), folder_(std::move(folder)) {}

Result<std::unique_ptr<Columns>> Columns::open(io::FileSystem& fs, io::Publisher& publisher,
                                               parquet::BatchWriter& writer) {
  STRATA_ASSIGN_OR_RETURN(auto folder, io::ensure_directory(fs, {publisher.stream(), "columns"}));
  auto columns = std::make_unique<Columns>(fs, publisher, writer, std::move(folder));
  STRATA_RETURN_IF_ERROR(columns->reload());
  return columns;
}

std::vector<std::string> Columns::list() const {
  const std::lock_guard lock(list_mutex_);
  return list_.names;
}

Result<void> Columns::reload() {
  STRATA_ASSIGN_OR_RETURN(List newest, read_newest());
  if (newest.number == 0) return {};
  STRATA_RETURN_IF_ERROR(settle_anchor());
  return adopt(std::move(newest));
}

Result<void> Columns::adopt(List list) {
  {
    const std::lock_guard lock(list_mutex_);
    if (list.number <= list_.number) return {};
  }
  // I4: the anchor shows at least this list by now. Whoever published it may be on the way to its
  // own sync, and batches will rest on it here.
  STRATA_RETURN_IF_ERROR(fs_.sync_directory(*folder_));
  const std::lock_guard lock(list_mutex_);
  if (list.number > list_.number) list_ = std::move(list);
  return {};
}

Result<Columns::List> Columns::read_newest() {
  STRATA_ASSIGN_OR_RETURN(const auto newest, io::read_newest(fs_, *folder_, kSuffix));
  List list;
  if (!newest) return list;
  list.number = newest->number;
  STRATA_ASSIGN_OR_RETURN(const auto names, columns_from_json(newest->bytes));
  for (const std::string& name : names) list.add(name);
  return list;
}

Result<std::optional<std::vector<std::string>>> Columns::lookup(
    std::span<const std::string> names) {
  {
    const std::lock_guard lock(list_mutex_);
    if (auto stored = list_.stored(names)) return stored;
  }
  // Not adopted: the anchor may not show it yet, and batches must not rest on it.
  STRATA_ASSIGN_OR_RETURN(const List newest, read_newest());
  return newest.stored(names);
}

Result<std::vector<std::string>> Columns::newest() {
  STRATA_ASSIGN_OR_RETURN(List list, read_newest());
  return std::move(list.names);
}

Result<std::vector<std::string>> Columns::foresee(std::span<const std::string> names) {
  STRATA_ASSIGN_OR_RETURN(List list, read_newest());
  STRATA_RETURN_IF_ERROR(list.extend(names));
  auto stored = list.stored(names);
  STRATA_CHECK(stored.has_value());
  return std::move(*stored);
}

Result<std::vector<std::string>> Columns::store(std::span<const std::string> names) {
  {
    const std::lock_guard lock(list_mutex_);
    if (auto stored = list_.stored(names)) return std::move(*stored);
  }
  const std::lock_guard extending(extend_mutex_);
  for (int i = 0; i < kRaceTries; ++i) {
    STRATA_ASSIGN_OR_RETURN(List list, read_newest());
    if (!list.stored(names)) {
      // Checked on the list that is published next to the one that won, so no race passes the cap.
      STRATA_RETURN_IF_ERROR(list.extend(names));
      ++list.number;
      const auto published = publish(list);
      if (!published && published.error().code == Code::kExists) continue;
      if (!published) return published.error();
      io::kill_point("registry:after_publish");
    }
    STRATA_RETURN_IF_ERROR(settle_anchor());
    io::kill_point("registry:after_anchor");
    auto stored = list.stored(names);
    STRATA_CHECK(stored.has_value());
    STRATA_RETURN_IF_ERROR(adopt(std::move(list)));
    return std::move(*stored);
  }
  return make_error(Code::kBusy, "the stream's columns keep changing; send the batch again.");
}

Result<void> Columns::publish(const List& list) {
  return io::publish_numbered(fs_, {.folder = *folder_,
                                    .staging = publisher_.staging(),
                                    .number = list.number,
                                    .suffix = kSuffix,
                                    .bytes = to_json(list.names),
                                    .points = {"registry:after_sync", "registry:after_claim"}});
}

Result<void> Columns::settle_anchor() {
  // Again until it shows the highest number: another process may have put an older list over ours.
  for (int i = 0; i < kRaceTries; ++i) {
    STRATA_ASSIGN_OR_RETURN(List newest, read_newest());
    newest.names.emplace_back(parquet::kBatchIdColumn);
    STRATA_ASSIGN_OR_RETURN(const auto data, publisher_.open_data(""));
    const io::Entry anchor{*data, kAnchorName};
    const auto footer = read_footer(fs_, anchor);
    if (footer && footer->columns == newest.names) return {};
    STRATA_RETURN_IF_ERROR(replace_anchor(anchor, newest.names));
  }
  return make_error(Code::kBusy, "the stream's columns keep changing; send the batch again.");
}

Result<std::optional<std::string>> Columns::anchor_problem() {
  STRATA_ASSIGN_OR_RETURN(List newest, read_newest());
  STRATA_ASSIGN_OR_RETURN(const auto data, publisher_.open_data(""));
  const io::Entry anchor{*data, kAnchorName};
  const auto stat = fs_.stat(anchor);
  if (!stat && stat.error().code != Code::kNotFound) return stat.error();
  if (newest.number == 0) {
    if (!stat) return std::nullopt;
    return "the stream has no columns yet, so Strata did not write it";
  }
  if (!stat) return "it is missing: without it columns change their order";
  if (stat->type != io::FileType::kFile) return "it is no file";
  newest.names.emplace_back(parquet::kBatchIdColumn);
  STRATA_ASSIGN_OR_RETURN(const std::string expected, writer_.encode_empty(newest.names));
  const auto bytes = fs_.read(anchor, kAnchorBytesMax);
  if (bytes && *bytes == expected) return std::nullopt;
  const auto footer = read_footer(fs_, anchor);
  if (footer && footer->columns != newest.names) {
    return "it does not show the registry's columns in their order";
  }
  return "it is damaged: its bytes are not those of an anchor with these columns";
}

Result<void> Columns::renew_anchor() {
  STRATA_ASSIGN_OR_RETURN(List newest, read_newest());
  newest.names.emplace_back(parquet::kBatchIdColumn);
  STRATA_ASSIGN_OR_RETURN(const auto data, publisher_.open_data(""));
  STRATA_RETURN_IF_ERROR(replace_anchor({*data, kAnchorName}, newest.names));
  return settle_anchor();
}

Result<void> Columns::replace_anchor(io::Entry anchor, const std::vector<std::string>& names) {
  STRATA_ASSIGN_OR_RETURN(const std::string bytes, writer_.encode_empty(names));
  return io::publish_replacing(fs_, {.to = anchor,
                                     .staging = publisher_.staging(),
                                     .bytes = bytes,
                                     .points = {"anchor:after_sync", "anchor:after_rename"}});
}

}  // namespace strata::stream
