#include "stream/column_profile.h"

#include <algorithm>
#include <map>
#include <utility>

#include "parquet/column_statistics.h"
#include "stream/batch_file.h"
#include "stream/batches.h"

namespace strata::stream {
namespace {

/// Cut between two characters of its UTF-8.
std::string sample_of(const std::string& value) {
  if (value.size() <= kSampleBytesMax) return value;
  std::size_t end = kSampleBytesMax;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xc0U) == 0x80U) --end;
  return value.substr(0, end);
}

void add_sample(ColumnProfile& column, const std::optional<std::string>& value) {
  if (!value || column.samples.size() >= ColumnProfile::kSamplesMax) return;
  std::string sample = sample_of(*value);
  if (std::ranges::find(column.samples, sample) != column.samples.end()) return;
  column.samples.push_back(std::move(sample));
}

struct FileColumns {
  std::uint64_t rows = 0;
  std::map<std::string, parquet::ColumnStatistics> columns;
};

/// Nothing: not a batch of this name, or one whose footer does not count its NULLs.
Result<std::optional<FileColumns>> read_columns(io::FileSystem& fs, const io::Directory& data,
                                                const DataFile& file) {
  const std::string name = file.batch_id + ".parquet";
  const auto left_out = [](const Error& error) {
    return error.code == Code::kBadBatch || error.code == Code::kNotFound;
  };
  const auto tail = read_footer_tail(fs, {data, name});
  if (!tail && left_out(tail.error())) return std::nullopt;
  if (!tail) return tail.error();
  const auto footer = parquet::parse_footer(*tail, file.bytes);
  auto columns = parquet::parse_column_statistics(*tail);
  if (!footer || !columns || footer->value("batch_id") != file.batch_id) return std::nullopt;
  for (const auto& [column, statistics] : *columns) {
    if (!statistics.nulls || *statistics.nulls > statistics.values) return std::nullopt;
  }
  return FileColumns{footer->rows, std::move(*columns)};
}

/// Puts them in order of age and takes out what is too many, from the middle. How many of the
/// oldest are there without a gap.
std::size_t choose(std::vector<DataFile>& files) {
  std::ranges::sort(files);
  if (files.size() <= kProfileFilesMax) return files.size();
  const auto half = static_cast<std::ptrdiff_t>(kProfileFilesMax / 2);
  files.erase(files.begin() + half, files.end() - half);
  return static_cast<std::size_t>(half);
}

/// The columns in registry order, then those that only another process has registered so far.
class ProfileTable {
 public:
  explicit ProfileTable(const std::vector<std::string>& registered) {
    for (const std::string& name : registered) at(name);
  }

  ColumnProfile& at(const std::string& name) {
    const auto [place, added] = places_.try_emplace(name, all_.size());
    if (added) all_.push_back({.name = name});
    return all_[place->second];
  }
  std::vector<ColumnProfile> take() { return std::move(all_); }

 private:
  std::vector<ColumnProfile> all_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace

Result<StreamProfile> profile_columns(io::FileSystem& fs, Stream& stream) {
  STRATA_ASSIGN_OR_RETURN(const auto data, stream.publisher().open_data(""));
  STRATA_ASSIGN_OR_RETURN(auto files, list_data(fs, *data));
  StreamProfile profile;
  profile.files = files.size();
  const std::size_t without_gap = choose(files);
  ProfileTable columns(stream.columns().list());
  bool all_older_read = true;
  for (std::size_t index = 0; index < files.size(); ++index) {
    const std::string& batch = files[index].batch_id;
    STRATA_ASSIGN_OR_RETURN(const auto file, read_columns(fs, *data, files[index]));
    all_older_read = all_older_read && file && index < without_gap;
    if (!file) continue;
    ++profile.files_read;
    profile.rows += file->rows;
    for (const auto& [name, statistics] : file->columns) {
      if (name == parquet::kBatchIdColumn) continue;
      ColumnProfile& column = columns.at(name);
      const std::uint64_t filled = statistics.values - *statistics.nulls;
      if (filled > 0 && column.filled == 0 && all_older_read) column.first_batch = batch;
      column.filled += filled;
      add_sample(column, statistics.smallest);
      add_sample(column, statistics.largest);
    }
  }
  profile.columns = columns.take();
  return profile;
}

}  // namespace strata::stream
