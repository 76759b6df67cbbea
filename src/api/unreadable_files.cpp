#include "api/unreadable_files.h"

#include <utility>

namespace strata::api {
namespace {

/// What DuckDB's message names below `folder`, in its quotes; printable, for it goes into answers.
std::optional<std::string> file_below(const std::string& folder, const std::string& message) {
  const std::size_t found = message.find(folder + '/');
  if (found == std::string::npos) return std::nullopt;
  const std::size_t begin = found + folder.size() + 1;
  const std::size_t end = message.find_first_of("'\"\n", begin);
  if (end == std::string::npos || end == begin) return std::nullopt;
  std::string path = message.substr(begin, end - begin);
  for (const char character : path) {
    if (character < ' ' || character > '~') return std::nullopt;
  }
  return path;
}

/// Of the name in `data/` that `path` begins with: a folder stands for what it holds.
Result<io::FileStat> look_at(const std::string& path, stream::Stream& stream, io::FileSystem& fs) {
  STRATA_ASSIGN_OR_RETURN(const auto data, stream.publisher().open_data(""));
  return fs.stat({*data, std::string_view(path).substr(0, path.find('/'))});
}

}  // namespace

void UnreadableFiles::note(const Error& failure, stream::Stream& stream, io::FileSystem& fs) {
  if (failure.code != Code::kIo) return;
  const auto path = file_below(stream.data_path(), failure.detail);
  if (!path) return;
  const auto stat = look_at(*path, stream, fs);
  if (!stat) return;
  const std::lock_guard lock(mutex_);
  seen_.insert_or_assign(&stream, Seen{*path, *stat});
}

std::optional<std::string> UnreadableFiles::of(stream::Stream& stream, io::FileSystem& fs) {
  Seen seen;
  {
    const std::lock_guard lock(mutex_);
    const auto found = seen_.find(&stream);
    if (found == seen_.end()) return std::nullopt;
    seen = found->second;
  }
  const auto now = look_at(seen.path, stream, fs);
  const bool unchanged = now && now->id == seen.stat.id &&
                         now->size_bytes == seen.stat.size_bytes &&
                         now->modified_ns == seen.stat.modified_ns;
  if (unchanged) return "data/" + seen.path;
  const std::lock_guard lock(mutex_);
  const auto found = seen_.find(&stream);
  if (found != seen_.end() && found->second.path == seen.path) seen_.erase(found);
  return std::nullopt;
}

}  // namespace strata::api
