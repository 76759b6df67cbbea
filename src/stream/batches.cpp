#include "stream/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "stream/batch_file.h"

namespace strata::stream {
namespace {

constexpr std::string_view kSuffix = ".parquet";
/// Files in `data/` that are no batches are somebody's slip; a page looks past so many of them.
constexpr std::size_t kStrangersMax = 100;

Error no_batch(const BatchId& id) {
  return make_error(Code::kNotFound,
                    fmt::format("no batch '{}' has landed in this stream.", id.str()));
}

}  // namespace

std::string batch_file_name(const std::string& batch_id) {
  return "data/" + batch_id + std::string(kSuffix);
}

Result<std::vector<DataFile>> list_data(io::FileSystem& fs, const io::Directory& data) {
  STRATA_ASSIGN_OR_RETURN(const auto entries, fs.list(data));
  std::vector<DataFile> files;
  files.reserve(entries.size());
  for (const io::DirEntry& entry : entries) {
    if (entry.type != io::FileType::kFile || !entry.name.ends_with(kSuffix)) continue;
    std::string name = entry.name.substr(0, entry.name.size() - kSuffix.size());
    if (!BatchId::parse(name)) continue;  // the anchor begins with a dot
    const auto stat = fs.stat({data, entry.name});
    if (!stat && stat.error().code == Code::kNotFound) continue;  // it went meanwhile
    if (!stat) return stat.error();
    files.push_back({std::move(name), stat->modified_ns, stat->size_bytes});
  }
  return files;
}

Result<bool> has_batches(io::FileSystem& fs, Stream& stream) {
  if (stream.numbers().totals().files > 0) return true;
  STRATA_ASSIGN_OR_RETURN(const auto data, stream.publisher().open_data(""));
  STRATA_ASSIGN_OR_RETURN(const auto files, list_data(fs, *data));
  return !files.empty();
}

Result<BatchPage> list_batches(io::FileSystem& fs, Stream& stream, std::size_t limit,
                               const std::optional<BatchId>& before) {
  STRATA_ASSIGN_OR_RETURN(const auto data, stream.publisher().open_data(""));
  STRATA_ASSIGN_OR_RETURN(auto files, list_data(fs, *data));
  if (before) {
    const auto at = std::ranges::find(files, before->str(), &DataFile::batch_id);
    if (at == files.end()) return no_batch(*before);
    const DataFile end = *at;
    std::erase_if(files, [&end](const DataFile& file) { return file >= end; });
  }
  const std::size_t looked_at_max = std::min(files.size(), limit + kStrangersMax);
  std::ranges::partial_sort(files, files.begin() + static_cast<std::ptrdiff_t>(looked_at_max),
                            std::ranges::greater());
  BatchPage page;
  FooterFactsReader reader(fs);
  std::size_t looked_at = 0;
  while (looked_at < looked_at_max && page.batches.size() < limit) {
    const std::string& id = files[looked_at++].batch_id;
    auto facts = reader.read({*data, id + std::string(kSuffix)});
    const bool stranger =
        facts ? facts->batch_id != id
              : facts.error().code == Code::kBadBatch || facts.error().code == Code::kNotFound;
    if (stranger) continue;
    if (!facts) return std::move(facts).error();
    page.batches.push_back(std::move(*facts));
  }
  if (looked_at > 0 && looked_at < files.size()) page.next = files[looked_at - 1].batch_id;
  return page;
}

Result<FoundBatch> find_batch(io::FileSystem& fs, Stream& stream, const BatchId& id) {
  STRATA_ASSIGN_OR_RETURN(auto published, stream.publisher().find(id));
  if (!published) return no_batch(id);
  FoundBatch found{.facts = std::move(published->facts), .where = std::nullopt};
  STRATA_ASSIGN_OR_RETURN(const auto data, stream.publisher().open_data(found.facts.partition));
  const auto stat = fs.stat({*data, id.str() + std::string(kSuffix)});
  if (!stat && stat.error().code != Code::kNotFound) return stat.error();
  if (stat) found.where = batch_file_name(id.str());
  return found;
}

}  // namespace strata::stream
