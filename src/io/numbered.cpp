#include "io/numbered.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ids.h"
#include "io/kill_point.h"

namespace strata::io {
namespace {

/// How often a file that went away between the listing and the read is looked for again.
constexpr int kListTries = 16;
constexpr std::size_t kStagingNameRandomBytes = 8;

/// The highest number among the folder's files.
Result<std::optional<std::uint64_t>> newest_number(FileSystem& fs, const Directory& folder,
                                                   std::string_view suffix) {
  STRATA_ASSIGN_OR_RETURN(const std::vector<DirEntry> entries, fs.list(folder));
  std::optional<std::uint64_t> newest;
  for (const DirEntry& entry : entries) {
    if (entry.type != FileType::kFile) continue;
    const auto number = parse_numbered(entry.name, suffix);
    if (number) newest = std::max(newest.value_or(0), *number);
  }
  return newest;
}

Result<void> write_durable(FileSystem& fs, Entry file, std::string_view bytes,
                           const NamedPoints& points) {
  STRATA_RETURN_IF_ERROR(fs.write_new(file, bytes));
  STRATA_RETURN_IF_ERROR(fs.sync_file(file));
  kill_point(points.after_sync);
  return {};
}

std::string staging_name(std::string_view name) {
  return fmt::format("{}.{}", name, random_hex(kStagingNameRandomBytes));
}

}  // namespace

std::string numbered_name(std::uint64_t number, std::string_view suffix) {
  return fmt::format("{:06}{}", number, suffix);
}

std::optional<std::uint64_t> parse_numbered(std::string_view name, std::string_view suffix) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  // Written back it must be the same: no sign, no other padding, no second spelling of a number.
  if (parsed.ec != std::errc() || numbered_name(number, suffix) != name) return std::nullopt;
  return number;
}

Result<std::optional<Numbered>> read_newest(FileSystem& fs, const Directory& folder,
                                            std::string_view suffix) {
  for (int i = 0; i < kListTries; ++i) {
    STRATA_ASSIGN_OR_RETURN(const auto newest, newest_number(fs, folder, suffix));
    if (!newest) return std::nullopt;
    auto bytes = fs.read({folder, numbered_name(*newest, suffix)}, kNumberedBytesMax);
    if (bytes) return Numbered{*newest, std::move(*bytes)};
    if (bytes.error().code != Code::kNotFound) return std::move(bytes).error();
  }
  return make_error(Code::kBusy, "A file keeps changing while it is read; try again soon.",
                    fmt::format("read_newest {}", folder.path()));
}

Result<void> publish_numbered(FileSystem& fs, const NumberedPublish& publish) {
  const std::string name = numbered_name(publish.number, publish.suffix);
  if (publish.bytes.size() > kNumberedBytesMax) {  // read_newest would never read it again
    return make_error(Code::kInternal, "A settings file would be too large to be read again.",
                      fmt::format("{} bytes for {}", publish.bytes.size(), name));
  }
  const std::string staged = staging_name(name);
  const Entry file{publish.staging, staged};
  Result<void> done = write_durable(fs, file, publish.bytes, publish.points);
  if (done) done = fs.rename_no_replace(file, {publish.folder, name});
  if (!done) {
    ignore(fs.unlink(file), "best effort: nobody reads staging, and the name is used once");
    return done;
  }
  kill_point(publish.points.after_name);
  return fs.sync_directory(publish.folder);
}

Result<void> publish_replacing(FileSystem& fs, const Replacement& replacement) {
  const std::string staged = staging_name(replacement.to.name);
  const Entry file{replacement.staging, staged};
  Result<void> done = write_durable(fs, file, replacement.bytes, replacement.points);
  if (done) done = fs.rename_replace(file, replacement.to);
  if (!done) {
    ignore(fs.unlink(file), "best effort: nobody reads staging, and the name is used once");
    return done;
  }
  kill_point(replacement.points.after_name);
  return fs.sync_directory(replacement.to.directory);
}

Result<std::unique_ptr<Directory>> ensure_directory(FileSystem& fs, Entry directory) {
  auto opened = fs.open_directory_at(directory);
  if (!opened && opened.error().code == Code::kNotFound) {
    const Result<void> made = fs.make_directory(directory);
    // kExists: another process made it first.
    if (!made && made.error().code != Code::kExists) return made.error();
    opened = fs.open_directory_at(directory);
  }
  if (!opened) return opened;
  STRATA_RETURN_IF_ERROR(fs.sync_directory(directory.directory));
  return opened;
}

}  // namespace strata::io
